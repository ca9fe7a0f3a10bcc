// Package conform replays recordings of llm-d's batch gateway on its model, or asks a
// live gateway the same, and says where they differ. bg-deploy conform batch-api and
// the tests of the model are its callers.
//
// A recording is a folder, or one file of it:
//
//	http/*.json         one exchange with the apiserver each
//	jobs/NAME/job.json  a job with its input, output and error file beside it
//	aimd.json           changes of the AIMD limit, from the processor's log
//	order.json          orders of jobs and lines, semaphores, workers
//	headers.json        headers of inference requests; retries
//	restart.json        ends and starts of the processor in mid-job
//
// The backend behind all of them did what its prompts said (package scripted). What has
// to be true before an exchange (files, jobs and how far they are) is read from the
// exchange itself and from those beside it, so each is replayed on its own.
//
//	cases, err := conform.Load([]string{"cases/batch-api"})
//	for _, c := range cases {
//		fmt.Println(c.Name, c.Replay().Differences)
//	}
package conform
