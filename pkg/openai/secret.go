package openai

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// Secret is a text that prints as a placeholder: an API key in a log line or an
// error must not be possible by accident.
type Secret string

const redacted = "[redacted]"

// String hides the secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return redacted
}

// GoString hides the secret from %#v.
func (s Secret) GoString() string { return `"` + s.String() + `"` }

// LogValue hides the secret from log/slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText hides the secret from JSON and YAML.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// hideIn blots the secret out of a text: servers repeat wrong keys in messages.
func (s Secret) hideIn(text string) string {
	if s == "" {
		return text
	}
	return strings.ReplaceAll(text, string(s), redacted)
}

// maxSecretBytes is far above the longest key. A wrong path may lead to anything.
const maxSecretBytes = 64 << 10

// ReadSecret reads a file that holds a secret and nothing else.
func ReadSecret(path string) (Secret, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxSecretBytes+1))
	if err != nil {
		return "", err
	}
	if len(text) > maxSecretBytes {
		return "", fmt.Errorf("%s: found more than %d bytes, expected a key on one line", path, maxSecretBytes)
	}
	secret, err := ParseSecret(string(text))
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return secret, nil
}

// ParseSecret takes the blanks around a secret off. Its errors do not tell the secret.
func ParseSecret(text string) (Secret, error) {
	text = strings.TrimSpace(text)
	if text == "" || !httpguts.ValidHeaderFieldValue(text) {
		return "", fmt.Errorf("found %d characters that are no key, expected one line", len(text))
	}
	return Secret(text), nil
}
