package openai

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestASecretDoesNotPrint(t *testing.T) {
	key := Secret("k3y")
	client := Client{APIKey: key}
	text, err := key.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	for _, printed := range []string{
		fmt.Sprint(key), fmt.Sprintf("%s %q %v %#v", key, key, key, key), fmt.Sprintf("%+v", client.APIKey), key.LogValue().String(), string(text),
	} {
		if strings.Contains(printed, "k3y") || !strings.Contains(printed, redacted) {
			t.Errorf("found %q", printed)
		}
	}
	if s := Secret("").String(); s != "" {
		t.Errorf("found %q for no secret", s)
	}
}

func TestAFileHoldsOneSecret(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	for text, want := range map[string]string{
		"k3y\n":                    "",
		" k3y ":                    "",
		"":                         file + ": found 0 characters that are no key, expected one line",
		strings.Repeat("k", 1<<20): file + ": found more than 65536 bytes, expected a key on one line",
		"k3y\nanother":             file + ": found 11 characters that are no key, expected one line",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		secret, err := ReadSecret(file)
		switch {
		case want == "" && (err != nil || secret != "k3y"):
			t.Errorf("%q: found %q and %v, expected the key", text, string(secret), err)
		case want != "" && (err == nil || err.Error() != want):
			t.Errorf("%q: found %v, expected %s", text, err, want)
		}
	}
	if _, err := ReadSecret(file + ".none"); err == nil || !strings.Contains(err.Error(), file+".none") {
		t.Errorf("found %v, expected the name of the file that is not there", err)
	}
}
