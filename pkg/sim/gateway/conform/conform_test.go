package conform

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bgbench/pkg/sim/gateway"
	"bgbench/pkg/sim/gateway/scripted"
	"bgbench/pkg/sim/kernel"
	"bgbench/pkg/sim/serve"
	"bgbench/pkg/spec"
)

// recorded holds what llm-d's batch gateway did (apiserver, processor and batch-gc of
// commit b7ff6a2b0b20 with Redis and PostgreSQL, on one machine).
const recorded = "testdata/batch-api"

func loadAll(t *testing.T) []Case {
	t.Helper()
	cases, err := Load([]string{recorded})
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

func TestTheModelBehavesAsTheRecordedGateway(t *testing.T) {
	kinds := map[string]int{}
	for _, c := range loadAll(t) {
		kind, _, _ := strings.Cut(c.Name, "/")
		kinds[kind]++
		t.Run(c.Name, func(t *testing.T) {
			for _, d := range c.Replay().Differences {
				t.Error(d)
			}
		})
	}
	for kind, n := range map[string]int{"http": 155, "jobs": 14, "aimd": 27, "order": 37, "headers": 8, "retry": 30, "restart": 10} {
		if kinds[kind] < n {
			t.Errorf("found %d cases of %s, expected %d and more", kinds[kind], kind, n)
		}
	}
}

// The recordings' AIMD runs hold one in which a waiter took a slot before the limit
// fell: without that race the model parts from it in the middle.
func TestOneRecordedSignalLostTheRaceForASlot(t *testing.T) {
	d, err := read(recorded + "/aimd.json")
	if err != nil {
		t.Fatal(err)
	}
	e := experimentOf(t, d, "capacity_limited_backend")
	matched := 0
	for late := range volleys {
		matched = max(matched, e.drive(late, nil).matched)
	}
	if matched != 14 || len(e.Steps) != 38 {
		t.Errorf("%d of %d changes match without a race, expected 14 of 38", matched, len(e.Steps))
	}
}

func experimentOf(t *testing.T, d document, name string) *experiment {
	t.Helper()
	var file struct {
		Note        string        `json:"note"`
		Experiments []*experiment `json:"experiments"`
	}
	if err := d.decode(&file); err != nil {
		t.Fatal(err)
	}
	for i, e := range file.Experiments {
		if e.Name == name {
			if err := e.check(d, i); err != nil {
				t.Fatal(err)
			}
			return e
		}
	}
	t.Fatalf("no experiment %s", name)
	return nil
}

// spoiled copies a file of the recordings, and what belongs to it, with some text
// replaced, and returns the case of that name.
func spoiled(t *testing.T, file, name, old, new string) Case {
	t.Helper()
	dir := t.TempDir()
	from := filepath.Join(recorded, filepath.Dir(file))
	// An exchange is told by itself, but for the content of what a job has made.
	alone := strings.HasPrefix(file, "http/") && !strings.Contains(file, "content_output")
	entries, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if entry.IsDir() || alone && entry.Name() != filepath.Base(file) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(from, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if entry.Name() == filepath.Base(file) {
			if !strings.Contains(string(text), old) {
				t.Fatalf("%s does not hold %s", file, old)
			}
			text = []byte(strings.ReplaceAll(string(text), old, new))
		}
		if err := os.WriteFile(filepath.Join(dir, entry.Name()), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	load := filepath.Join(dir, filepath.Base(file))
	if strings.HasSuffix(file, ".jsonl") {
		load = filepath.Join(dir, "job.json")
	}
	cases, err := Load([]string{load})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no case %s in %s", name, file)
	return Case{}
}

// A mistake in any field must be noticed where it was made.
func TestReplayFindsWhatDiffers(t *testing.T) {
	for _, c := range []struct{ file, name, old, new, want string }{
		{"http/file_upload_ok.json", "", `"purpose": "batch"`, `"purpose": "vision"`, "body.purpose"},
		{"http/batch_create_bad_endpoint.json", "", `"status": 400`, `"status": 422`, "status: got 400, want 422"},
		{"http/batch_create_bad_endpoint.json", "", `invalid endpoint`, `unknown endpoint`, "body.error.message"},
		{"http/file_get_ok.json", "", `"bytes": `, `"bytes": 1`, "header Content-Length"},
		{"http/file_content_output.json", "", `ok req-0001`, `ok req-0002`, "body[1].response.body"},
		{"http/batch_get_in_progress.json", "", `"completed": 2`, `"completed": 7`, "body.request_counts.completed"},
		{"http/batch_get_finalizing.json", "", `"completed_at": null`, `"completed_at": 1795994087`, "body.completed_at"},
		{"http/batch_get_cancelled.json", "", `"cancelling_at": null`, `"cancelling_at": 1795994087`, "body.cancelling_at"},
		{"http/batch_list_limit_2.json", "", `"has_more": true`, `"has_more": false`, "header Content-Length"},
		{"http/file_list_limit_2_after_2.json", "", `"first_id": "file_`, `"first_id": "f_`, "body.first_id"},
		{"http/file_upload_too_many_lines.json", "", `max_line_count 5`, `max_line_count 500`, "status: got 200"},
		{"http/route_wrong_method.json", "", `Unknown request URL`, `Unknown URL`, "body.error.message"},
		{"http/batch_cancel_failed.json", "", `cannot be cancelled`, `is over`, "status: got 404, want 400"},
		{"http/file_content_ok.json", "", `"Content-Type": "application/octet-stream"`, `"Content-Type": "text/plain"`, "header Content-Type"},
		{"http/job_bad_json_line_final.json", "", `"processor_log_reason": "`, `"processor_log_reason": "x`, "reason in the processor's log"},
		{"http/job_two_models_final.json", "", `"status_code": 200`, `"status_code": 201`, "output_file"},
		{"http/job_url_mismatch_final.json", "", `"path": "/v1/completions"`, `"path": "/v1/embeddings"`, "upstream_requests"},
		{"jobs/mixed_answers/job.json", "jobs/mixed_answers", `"status": "completed"`, `"status": "failed"`, "statuses"},
		{"jobs/mixed_answers/job.json", "jobs/mixed_answers", `"mix-03"`, `"mix-33"`, "attempts.mix-33"},
		{"jobs/mixed_answers/output.jsonl", "jobs/mixed_answers", `"status_code":400`, `"status_code":404`, "output file"},
		{"jobs/all_timeout/error.jsonl", "jobs/all_timeout", `SERVER_ERROR`, `server_error`, "error file"},
		{"jobs/expired_midway/error.jsonl", "jobs/expired_midway", `batch_expired`, `batch_cancelled`, "error file"},
		{"jobs/cancelled_midway/job.json", "jobs/cancelled_midway", `"status": 200`, `"status": 400`, "cancel: status"},
		{"aimd.json", "aimd/volley_429_30", "\"old\": 30,\n\"new\": 15", "\"old\": 30,\n\"new\": 14", "change 0 of the limit: got 30 to 15 by 429, want 30 to 14 by 429"},
		{"aimd.json", "aimd/halve_capacity_retry_500", `"signal": "capacity_retry"`, `"signal": "5xx"`, "change 0 of the limit"},
		{"aimd.json", "aimd/capacity_limited_backend", `"max_in_flight": 7`, `"max_in_flight": 8`, "in flight at most"},
		{"aimd.json", "aimd/sim_queue_full_no_retries", `"429": 10`, `"429": 11`, "output_status_codes.429"},
		{"aimd.json", "aimd/floor_at_min", `"dec_429": 20.0`, `"dec_429": 2.0`, "metric dec_429"},
		{"order.json", "order/jobs_order/three_jobs_workers_1", `"first_arrival_s": 20.306`, `"first_arrival_s": 1.306`, "job B: first request"},
		{"order.json", "order/jobs_order/equal_windows_created_P_Q_R", `P-000 P-001`, `P-001 P-000`, "arrival_order"},
		{"order.json", "order/concurrency/two_gateways_per_endpoint_6_global_8_3_jobs", `"max_in_flight_backend": 12`, `"max_in_flight_backend": 8`, "in flight at most"},
		{"order.json", "order/within_job/five_prompts_and_none_serial", `"r23"`, `"r24"`, "arrival_order"},
		{"order.json", "order/within_job/five_prompts_and_none_serial", `754882063`, `754882064`, "fnv32a of r03"},
		{"order.json", "order/worker_release/job_of_25_s", `40.38`, `25.4`, "job B: first request"},
		{"order.json", "order/worker_release/job_expired_in_queue", `"status": "expired"`, `"status": "failed"`, "job B: first request"},
		{"order.json", "order/config_checks/backoff_factor_1", `got 1.000000`, `got 1`, "message"},
		{"order.json", "order/model_order/first_model", `"m1"`, `"m2"`, "jobs that began with m1"},
		{"order.json", "order/line_url_decides/v1/responses", `"upstream_path": ["/v1/responses"]`, `"upstream_path": ["/v1/chat/completions"]`, "upstream_path"},
		{"order.json", "order/progress_updates/changes", `144`, `14`, "completed in change 1"},
		{"order.json", "order/slot_held_during_backoff/attempts", `503`, `200`, "attempts"},
		{"headers.json", "headers/pass_through", `"X-Maas-Group": "g1"`, `"X-Maas-Group": "g2"`, "first_request_headers.X-Maas-Group"},
		{"headers.json", "headers/pass_through_overrides", `"X-Gateway-Inference-Objective": "batch-sheddable"`, `"X-Gateway-Inference-Objective": "evil"`, "first_request_headers.X-Gateway-Inference-Objective"},
		{"headers.json", "headers/objective_fairness", `"X-Gateway-Inference-Fairness-Id": "team-1"`, `"X-Gateway-Inference-Fairness-Id": "default"`, "Fairness-Id"},
		{"headers.json", "headers/plain", `"slo_minus_true_remaining_ms": 819`, `"slo_minus_true_remaining_ms": 19`, "x-slo-ttft-ms of request"},
		{"headers.json", "retry/429_retry_after_3", `"429/ra=3,200"`, `"429/ra=1,200"`, "wait 1"},
		{"headers.json", "retry/408", `"attempts": 1`, `"attempts": 2`, "answers"},
		{"headers.json", "retry/array_body_200", `PARSE_ERROR`, `parse_error`, "error_first_line"},
		{"restart/restart.json", "restart/sigterm_mid_job_small_outputs", `"output_lines": 10`, `"output_lines": 9`, "output_lines"},
		{"restart/restart.json", "restart/sigterm_mid_job_small_outputs", `"error_lines": 10`, `"error_lines": 8`, "error_lines"},
		{"restart/restart.json", "restart/sigkill_mid_job_small_outputs", `"requests_sent_twice": 12`, `"requests_sent_twice": 0`, "requests_sent_twice"},
		{"restart/restart.json", "restart/sigkill_mid_job_large_outputs", `2097152`, `2097151`, "bytes"},
		{"restart/restart.json", "restart/sigkill_mid_job_large_outputs", `294512`, `294511`, "bytes of the last line"},
		{"restart/restart.json", "restart/sigkill_restart_after_deadline", `action=\"expired\"`, `action=\"failed\"`, "startup_recovery_metric"},
		{"restart/restart.json", "restart/sigkill_no_restart_gc", `"failed_at": 1795994674`, `"failed_at": null`, "batch.failed_at"},
	} {
		t.Run(c.file+" "+c.want, func(t *testing.T) {
			name := c.name
			if name == "" {
				name = strings.TrimSuffix(c.file, ".json")
			}
			found := spoiled(t, c.file, name, c.old, c.new).Replay().Differences
			if all := strings.Join(found, "\n"); !strings.Contains(all, c.want) {
				t.Errorf("got %v, want something about %q", found, c.want)
			}
		})
	}
}

func TestWhatIsNoCaseIsAnError(t *testing.T) {
	const exchange = `{"name": "x", "request": {"method": "GET", "path": "/v1/batches"}, "response": {"status": 200}}`
	for name, c := range map[string]struct{ text, want string }{
		"no JSON":             {"{\n\"request\": nonsense}", "case.json:2: invalid character 'o'"},
		"a list":              {"[]", "case.json:1: found array, expected an object"},
		"half of it":          {"{\n\"request\": {", "case.json:2: the file ends inside a JSON value"},
		"two of them":         {exchange + "\n" + exchange, "case.json:2: found more than one JSON value"},
		"another thing":       {`{"name": "x", "colour": 3}`, "case.json:1: found the keys [colour name], expected those of an exchange"},
		"an unknown key":      {strings.Replace(exchange, `"path"`, "\n\"pith\"", 1), "case.json:2: pith: unknown key"},
		"a key of a number":   {strings.Replace(exchange, `"GET"`, "\n7", 1), "case.json:2: request.method: found number, expected a string"},
		"no method":           {strings.Replace(exchange, `"GET"`, `"FETCH"`, 1), `case.json:1: request.method: found "FETCH", expected one of GET`},
		"no path":             {strings.Replace(exchange, `/v1`, `v1`, 1), `case.json:1: request.path: found "v1/batches", expected a path`},
		"no status":           {strings.Replace(exchange, `200`, "\n2000", 1), "case.json:2: response.status: found 2000, expected an HTTP status"},
		"no name":             {strings.Replace(exchange, `"x"`, `""`, 1), "case.json:1: name: found none"},
		"no headers":          {strings.Replace(exchange, `"path"`, `"headers": {"a": 1}, "path"`, 1), "case.json:1: headers.a: json: cannot unmarshal number"},
		"an odd note":         {strings.Replace(exchange, `"path"`, `"multipart": [{"name": "file", "value_note": "long"}], "path"`, 1), `request.multipart[0].value_note: found "long", expected how many bytes`},
		"a job alone":         {`{"name": "x", "completion_window": "1h", "polls_on_change": [{"t_s": 0, "batch": {}}]}`, "input.jsonl: no such file"},
		"an odd window":       {`{"name": "x", "completion_window": "1 hour", "polls_on_change": []}`, `case.json:1: completion_window: found "1 hour", expected a duration such as 1h`},
		"a job without polls": {`{"name": "x", "completion_window": "1h", "polls_on_change": []}`, "case.json:1: polls_on_change: found none"},
		"a short row":         {`{"name": "x", "polls_on_change": [], "backend": [[1, 2]]}`, "case.json:1: backend: found a row of 2 columns, expected 6"},
		"no experiments":      {`{"experiments": []}`, "case.json:1: experiments: found none"},
		"an AIMD step":        {`{"experiments": [{"name": "x", "jobs": [{}],` + "\n" + `"limit_steps": [{"kind": "halved"}]}]}`, `case.json:2: experiments[0].limit_steps[0].kind: found "halved", expected increase or decrease`},
		"a config refused":    {`{"experiments": [{"name": "x", "jobs": [{}], "config": {"concurrency": {"global": 1, "per_endpoint": 2}}}]}`, "experiments[0].config: concurrency.per_endpoint (2) must be <= concurrency.global (1)"},
		"an odd event":        {`{"experiments": [{"name": "x", "events": [[1, "reboot", {}]]}]}`, `events: found "reboot", expected one of signal, process ended`},
		"no signal":           {`{"experiments": [{"name": "x", "signal": "SIGHUP", "events": []}]}`, `experiments[0].signal: found "SIGHUP", expected SIGTERM or SIGKILL`},
		"an odd gateway":      {`{"upstream_headers": [{"name": "x", "completion_window": "1h", "config": {"gateway": {"retries": 1}}}]}`, "upstream_headers[0].config.gateway: found neither"},
		"an odd plan":         {`{"retry": [{"name": "x", "plan": "429,soon"}]}`, `retry[0].plan: found "soon" as answer 2`},
		"an odd order":        {`{"jobs_order": [{"name": "x", "arrival_order": "A1"}]}`, `jobs_order[0].arrival_order: found "A1", expected JOB-NUMBER`},
		"an unknown section":  {`{"jobs_order": [], "jobs_disorder": []}`, "jobs_disorder: unknown key"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "case.json")
			if err := os.WriteFile(file, []byte(c.text), 0o644); err != nil {
				t.Fatal(err)
			}
			_, err := Load([]string{file})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// liveGateway serves the model's API on the wall clock, as a live gateway would.
func liveGateway(t *testing.T, change func(http.Handler) http.Handler) *Live {
	t.Helper()
	k := kernel.NewWall()
	cfg := plainConfig(50, 100, 4)
	cfg.PollInterval = spec.Duration(time.Millisecond)
	g := gateway.New(k, cfg, scripted.New(k, time.Millisecond))
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		k.Run(ctx)
	}()
	server := httptest.NewServer(change(serve.BatchHandler(k, g)))
	t.Cleanup(func() {
		server.Close()
		cancel()
		<-stopped
	})
	live, err := NewLive(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return live
}

func TestALiveGatewayIsAskedWhatItsAPICanBringAbout(t *testing.T) {
	live := liveGateway(t, func(h http.Handler) http.Handler { return h })
	ran, reasons := map[string]bool{}, map[string]int{}
	for _, c := range loadAll(t) {
		if strings.Contains(c.Name, "_lines_default_limit") { // megabytes
			continue
		}
		o := c.Ask(t.Context(), live)
		for _, d := range o.Differences {
			t.Errorf("%s: %s", c.Name, d)
		}
		if o.NotRun == "" {
			ran[c.Name] = true
		} else {
			reasons[o.NotRun]++
		}
	}
	for _, name := range []string{
		"http/file_upload_ok", "http/file_get_other_tenant", "http/file_delete_again", "http/batch_create_ok_all_fields",
		"http/batch_create_file_of_other_tenant", "http/batch_list_empty", "http/batch_list_limit_abc",
		"http/batch_cancel_completed", "http/batch_cancel_other_tenant", "http/job_duplicate_custom_id_final",
		"http/batch_get_expired_window_minus_5m", "http/route_root", "jobs/ingestion_failed", "jobs/empty_file",
	} {
		if !ran[name] {
			t.Errorf("%s was not run", name)
		}
	}
	for _, reason := range []string{
		"goes to the apiserver's other port", "shows what else is in the database",
		"needs an apiserver with other limits on an upload", needsScript,
	} {
		if reasons[reason] == 0 {
			t.Errorf("nothing was left out because it %s", reason)
		}
	}
	if err := live.Close(t.Context()); err != nil {
		t.Error(err)
	}
	var list gateway.FileList
	if err := live.ask(t.Context(), "GET", "/v1/files?purpose=batch", "", nil, &list); err != nil || len(list.Data) > 0 {
		t.Errorf("%d input files are left: %v", len(list.Data), err)
	}
}

func TestDriftOfALiveGatewayIsShown(t *testing.T) {
	live := liveGateway(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			answer := httptest.NewRecorder()
			h.ServeHTTP(answer, r)
			w.Header().Set("Content-Type", answer.Header().Get("Content-Type")+"; charset=utf-8")
			if answer.Code == http.StatusNotFound {
				answer.Code = http.StatusGone
			}
			w.WriteHeader(answer.Code)
			io.WriteString(w, strings.ReplaceAll(answer.Body.String(), `"errors":null`, `"errors":[]`))
		})
	})
	want := map[string]string{
		"http/file_get_unknown":                 "status: got 410, want 404",
		"http/file_get_ok":                      "header Content-Type: got",
		"http/batch_create_ok_chat_completions": "body.errors: got [], want null",
	}
	for _, c := range loadAll(t) {
		if drift, ok := want[c.Name]; ok {
			o := c.Ask(t.Context(), live)
			if all := strings.Join(o.Differences, "\n"); !strings.Contains(all, drift) {
				t.Errorf("%s: got %v, want %q", c.Name, o.Differences, drift)
			}
			delete(want, c.Name)
		}
	}
	if len(want) > 0 {
		t.Errorf("not among the cases: %v", want)
	}
}

func TestWhatIsNoURLOfAGatewayIsRefused(t *testing.T) {
	for _, base := range []string{"", "localhost:8000", "ftp://x", "http://"} {
		if _, err := NewLive(base); err == nil {
			t.Errorf("%q is accepted", base)
		}
	}
}

func FuzzLoad(f *testing.F) {
	for _, name := range []string{"http/file_upload_ok.json", "http/batch_list_limit_2.json", "jobs/all_ok/job.json", "order.json", "restart/restart.json"} {
		text, err := os.ReadFile(filepath.Join(recorded, name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		file := filepath.Join(t.TempDir(), "case.json")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		cases, err := Load([]string{file})
		if err != nil && len(cases) > 0 {
			t.Errorf("both cases and an error: %v", err)
		}
		if err != nil && !strings.Contains(err.Error(), "case.json") && !strings.Contains(err.Error(), "input.jsonl") {
			t.Errorf("%v does not name the file", err)
		}
	})
}
