#!/bin/sh
# run.sh RUN [OUT]: executes the notebooks on the experiment in RUN, and keeps their outputs
# in OUT, or in the notebooks themselves. Fails where a cell does. On Debian it installs what
# is missing; elsewhere it says what is.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
run=$(cd "$1" && pwd)
out=${2:-$here}
python=${PYTHON:-/usr/bin/python3}
if ! "$python" -c 'import nbconvert, ipykernel, pandas' 2>/dev/null; then
	if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
		apt-get update -qq
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq python3-nbconvert python3-ipykernel python3-pandas >/dev/null
	else
		echo "run.sh: $python has no nbconvert, ipykernel and pandas, which the notebooks need" >&2
		exit 1
	fi
fi
mkdir -p "$out"
for name in duckdb pandas; do
	RUN=$run PYDEVD_DISABLE_FILE_VALIDATION=1 PYTHONPATH=$here "$python" -m nbconvert --log-level WARN --to notebook --execute \
		--ExecutePreprocessor.timeout=300 --ExecutePreprocessor.record_timing=False --output-dir "$out" --output "$name.ipynb" "$here/$name.ipynb"
	echo "$name.ipynb: executed on $run"
done
