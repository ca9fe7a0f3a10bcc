#!/bin/sh
# claim.sh FILE PROCESS: says in FILE that PROCESS writes beside it. Where another process
# that lives has said so, prints its number and fails; of those that begin at the same time
# one gets it.
#
# A file, since make can hold no lock. A process is known by its number and its start: numbers
# come again, in containers with every run.
set -eu
file=$1 process=$2

# start prints what tells process $1 from others of its number, nothing where it has ended.
start() {
	if [ -r /proc/self/stat ]; then
		{ sed 's/.*) //' "/proc/$1/stat" | awk '$1 !~ /^[ZX]/ { getline boot <"/proc/sys/kernel/random/boot_id"; print $20, boot }'; } 2>/dev/null
	else
		ps -o stat= -o lstart= -p "$1" | awk '$1 !~ /^Z/ { $1 = ""; print }'
	fi
}
# lives reports whether the process that made the claim $1 has not ended.
lives() {
	case $1 in *' '*) [ "$(echo "${1%% *}" $(start "${1%% *}"))" = "$1" ] ;; *) false ;; esac
}

mine=$file.$process.partial
trap 'rm -f "$mine" "$mine.link"' EXIT
echo "$process" $(start "$process") >"$mine"
until ln "$mine" "$file" 2>/dev/null; do
	claim=$(cat "$file" 2>/dev/null) || {
		ln "$mine" "$mine.link" 2>/dev/null || { mv "$mine" "$file"; exit 0; } # no links here
		rm -f "$mine.link"
		continue
	}
	if [ "$claim" = "$(cat "$mine")" ]; then exit 0; fi
	if lives "$claim"; then echo "${claim%% *}"; exit 1; fi
	# What an ended process said may be replaced by one only: who has claimed to.
	heir=$file.$(printf '%s' "$claim" | tr -c '[:alnum:]' -)
	"$0" "$heir" "$process"
	if [ "$(cat "$file" 2>/dev/null)" = "$claim" ]; then mv "$mine" "$file"; rm -f "$heir"; exit 0; fi
	rm -f "$heir"
done
