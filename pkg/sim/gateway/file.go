package gateway

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"bgbench/pkg/openai"
)

// file is a row of the file table with its content.
type file struct {
	openai.File
	tenant  string
	content string
}

// Upload is the form of POST /v1/files.
type Upload struct {
	Purpose  string
	Filename string
	// Content belongs to the gateway from Upload on: nobody may change it any more.
	Content []byte
	// ExpiresAnchor and ExpiresSeconds are the form values expires_after[anchor]
	// and expires_after[seconds], empty when they were not sent.
	ExpiresAnchor, ExpiresSeconds string
}

// FileList is the answer to GET /v1/files.
type FileList struct {
	Object  string        `json:"object"`
	Data    []openai.File `json:"data"`
	FirstID string        `json:"first_id"`
	LastID  string        `json:"last_id"`
	HasMore bool          `json:"has_more"`
}

// Deleted is the answer to DELETE /v1/files/{id}.
type Deleted struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Deleted bool   `json:"deleted"`
}

// filePurposes are those that the Files API accepts.
var filePurposes = [...]string{
	"assistants", "assistants_output", "batch", "batch_output",
	"fine-tune", "fine-tune-results", "vision", "user_data",
}

const (
	purposeBatch       = "batch"
	purposeBatchOutput = "batch_output"
	// Lifetimes of files in seconds: the bounds of expires_after.
	minExpirationSeconds = 3600
	maxExpirationSeconds = 30 * 24 * 3600
	// DefaultLifetime is that of a file without it.
	DefaultLifetime = 90 * 24 * 3600
)

// Upload stores a file. Its content is not looked at but for the number of lines.
func (g *Gateway) Upload(tenant string, u Upload) (openai.File, *APIError) {
	if u.Purpose == "" {
		return openai.File{}, BadRequest("Missing required parameter: 'purpose'")
	}
	if !slices.Contains(filePurposes[:], u.Purpose) {
		return openai.File{}, BadRequest("Invalid file purpose '%s'. Must be one of: %s", u.Purpose, strings.Join(filePurposes[:], ", "))
	}
	lifetime, apiErr := u.lifetime()
	if apiErr != nil {
		return openai.File{}, apiErr
	}
	if int64(len(u.Content)) > g.cfg.Limits.MaxSizeBytes {
		return openai.File{}, g.TooLarge()
	}
	content := textOf(u.Content)
	if countLines(content) > g.cfg.Limits.MaxLineCount {
		return openai.File{}, BadRequest("File exceeds the maximum allowed line count of %d", g.cfg.Limits.MaxLineCount)
	}
	id := g.newID("file_")
	name := path.Base(u.Filename)
	if u.Filename == "" || name == "." || name == ".." || name == "/" {
		name = id + ".jsonl"
	}
	f := g.storeFile(tenant, id, name, u.Purpose, "uploaded", content, lifetime)
	return f.File, nil
}

// textOf is content as a string without a copy, which for the tens of megabytes of a
// job would be a quarter of the gateway's time (see BenchmarkGateway).
func textOf(content []byte) string { return unsafe.String(unsafe.SliceData(content), len(content)) }

// TooLarge is the answer to an upload beyond the limit. The apiserver compares the
// limit with the request's Content-Length before it reads the form.
func (g *Gateway) TooLarge() *APIError {
	return BadRequest("File size exceeds the maximum allowed size of %d bytes", g.cfg.Limits.MaxSizeBytes)
}

// MaxUploadBytes is the limit on an upload.
func (g *Gateway) MaxUploadBytes() int64 { return g.cfg.Limits.MaxSizeBytes }

func (u Upload) lifetime() (seconds int64, _ *APIError) {
	if u.ExpiresAnchor == "" && u.ExpiresSeconds == "" {
		return DefaultLifetime, nil
	}
	if u.ExpiresAnchor == "" || u.ExpiresSeconds == "" {
		return 0, BadRequest("both expires_after[anchor] and expires_after[seconds] must be provided together")
	}
	if u.ExpiresAnchor != anchorCreatedAt {
		return 0, BadRequest("invalid expires_after[anchor] '%s'. Only 'created_at' is supported", u.ExpiresAnchor)
	}
	seconds, err := strconv.ParseInt(u.ExpiresSeconds, 10, 64)
	if err != nil {
		return 0, BadRequest("invalid expires_after[seconds]: must be a valid integer")
	}
	if seconds < minExpirationSeconds || seconds > maxExpirationSeconds {
		return 0, BadRequest("expires_after[seconds] must be between %d (1 hour) and %d (30 days)", minExpirationSeconds, maxExpirationSeconds)
	}
	return seconds, nil
}

// countLines counts a last line without a newline too.
func countLines(content string) int {
	n := strings.Count(content, "\n")
	if content != "" && content[len(content)-1] != '\n' {
		n++
	}
	return n
}

func (g *Gateway) storeFile(tenant, id, name, purpose, status, content string, lifetime int64) *file {
	now := g.unix()
	expires := now + lifetime
	f := &file{
		File: openai.File{
			ID: id, Bytes: int64(len(content)), CreatedAt: now, ExpiresAt: &expires,
			Filename: name, Object: "file", Purpose: purpose, Status: status,
		},
		tenant:  tenant,
		content: content,
	}
	g.files[id] = f
	return f
}

func (g *Gateway) file(tenant, id string) (*file, *APIError) {
	f, ok := g.files[id]
	if !ok || f.tenant != tenant {
		return nil, NotFound("File with ID %s not found", id)
	}
	return f, nil
}

// File returns the file object.
func (g *Gateway) File(tenant, id string) (openai.File, *APIError) {
	f, apiErr := g.file(tenant, id)
	if apiErr != nil {
		return openai.File{}, apiErr
	}
	return f.File, nil
}

// Content returns the content of a file.
func (g *Gateway) Content(tenant, id string) (string, *APIError) {
	f, apiErr := g.file(tenant, id)
	if apiErr != nil {
		return "", apiErr
	}
	return f.content, nil
}

// DeleteFile removes a file. Jobs that have read it go on.
func (g *Gateway) DeleteFile(tenant, id string) (Deleted, *APIError) {
	if _, apiErr := g.file(tenant, id); apiErr != nil {
		return Deleted{}, apiErr
	}
	delete(g.files, id)
	return Deleted{ID: id, Object: "file", Deleted: true}, nil
}

// defaultFileLimit and maxFileLimit bound a page of GET /v1/files.
const (
	defaultFileLimit = 20
	maxFileLimit     = 10_000
)

// ListQuery holds the query parameters of a list as they were sent.
type ListQuery struct{ After, Limit, Order, Purpose string }

// Files lists a tenant's files. Pages are cut from the list in the order of the
// ids' text, whatever the order; order=desc (the default) only reverses the page.
func (g *Gateway) Files(tenant string, q ListQuery) (FileList, *APIError) {
	after, limit, apiErr := q.filePage()
	if apiErr != nil {
		return FileList{}, apiErr
	}
	var ids []string
	for id, f := range g.files {
		if f.tenant == tenant && (q.Purpose == "" || f.Purpose == q.Purpose) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	ids, more := page(ids, after, limit)
	if q.Order != "asc" {
		slices.Reverse(ids)
	}
	list := FileList{Object: "list", Data: make([]openai.File, len(ids)), HasMore: more}
	for i, id := range ids {
		list.Data[i] = g.files[id].File
	}
	if len(ids) > 0 {
		list.FirstID, list.LastID = ids[0], ids[len(ids)-1]
	}
	return list, nil
}

func (q ListQuery) filePage() (after, limit int, _ *APIError) {
	limit = defaultFileLimit
	var err error
	if q.After != "" {
		if after, err = strconv.Atoi(q.After); err != nil {
			return 0, 0, BadRequest("Invalid after parameter: must be a valid integer cursor")
		}
	}
	if q.Limit != "" {
		if limit, err = strconv.Atoi(q.Limit); err != nil {
			return 0, 0, BadRequest("Invalid limit parameter: must be an integer")
		}
		if limit < 1 || limit > maxFileLimit {
			return 0, 0, BadRequest("Invalid limit parameter: must be between 1 and %d", maxFileLimit)
		}
	}
	if q.Order != "" && q.Order != "asc" && q.Order != "desc" {
		return 0, 0, BadRequest("Invalid order parameter: must be 'asc' or 'desc'")
	}
	if q.Purpose != "" && !slices.Contains(filePurposes[:], q.Purpose) {
		return 0, 0, BadRequest("Invalid purpose '%s'.", q.Purpose)
	}
	return after, limit, nil
}

// page cuts limit entries from offset after on.
func page(ids []string, after, limit int) (cut []string, more bool) {
	after = min(max(after, 0), len(ids))
	end := min(after+limit, len(ids))
	return ids[after:end], end < len(ids)
}
