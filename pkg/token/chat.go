package token

// Message is one turn of a chat as the template sees it.
type Message struct{ Role, Content string }

// The ChatML template of the Qwen family wraps a message in
// <|im_start|>role\n … <|im_end|>\n and ends with <|im_start|>assistant\n.
const (
	// MessageOverhead is the number of tokens that the template adds to each message.
	MessageOverhead = 5
	// ReplyOverhead is the number of tokens of the generation prompt at the end.
	ReplyOverhead = 3
)

// Ids of the template's own tokens. Like those of text they differ but for hash
// collisions.
const (
	idStart uint32 = iota + 1
	idEnd
	idNewline
)

// AppendMessage appends the ids of one message in the rendered chat template to dst.
func AppendMessage(dst []uint32, m Message) []uint32 {
	dst = append(dst, idStart)
	dst = appendRole(dst, m.Role)
	dst = append(dst, idNewline)
	dst = Append(dst, m.Content)
	return append(dst, idEnd, idNewline)
}

// AppendReply appends the end of the rendered chat template, the generation prompt.
func AppendReply(dst []uint32) []uint32 {
	dst = append(dst, idStart)
	dst = appendRole(dst, "assistant")
	return append(dst, idNewline)
}

// appendRole appends exactly one id, whatever the role is called.
func appendRole(dst []uint32, role string) []uint32 { return append(dst, idOf(role)) }

// CountChat returns how many tokens the rendered chat template has: those that
// AppendMessage appends for each message and, at the end, AppendReply.
func CountChat(messages []Message) int {
	n := ReplyOverhead
	for _, m := range messages {
		n += MessageOverhead + Count(m.Content)
	}
	return n
}
