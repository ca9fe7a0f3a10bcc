package token

// Counter counts tokens as a model does.
type Counter interface {
	// Count returns the tokens of a text.
	Count(text string) int
	// CountChat returns those of a chat as the server renders it, up to where the
	// answer begins.
	CountChat(messages []Message) (int, error)
}

// Default counts without a vocabulary.
type Default struct{}

// Count implements Counter.
func (Default) Count(text string) int { return Count(text) }

// CountChat implements Counter.
func (Default) CountChat(messages []Message) (int, error) { return CountChat(messages), nil }
