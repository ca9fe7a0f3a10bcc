package scrape

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/prometheus/common/config"
)

// Access says how to get at servers that do not let everybody in. Secrets are in files.
type Access struct {
	BearerTokenFile        string
	Username, PasswordFile string // basic authentication
	CAFile                 string // of who signed the servers' certificates
	CertFile, KeyFile      string // of the client
	// ConfigFile has all that and more, in the format of promtool's --http.config.file.
	ConfigFile string
}

// Client returns a client that reads the files again when they change.
func (a Access) Client() (*http.Client, error) {
	cfg := config.DefaultHTTPClientConfig
	if a.ConfigFile != "" {
		loaded, _, err := config.LoadHTTPConfigFile(a.ConfigFile)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", a.ConfigFile, err)
		}
		cfg = *loaded
	}
	if a.BearerTokenFile != "" {
		cfg.Authorization = &config.Authorization{Type: "Bearer", CredentialsFile: a.BearerTokenFile}
	}
	if (a.Username == "") != (a.PasswordFile == "") {
		return nil, errors.New("basic authentication: found a user name or a password file, expected both")
	}
	if a.Username != "" {
		cfg.BasicAuth = &config.BasicAuth{Username: a.Username, PasswordFile: a.PasswordFile}
	}
	if a.CAFile != "" {
		cfg.TLSConfig.CAFile = a.CAFile
	}
	if a.CertFile != "" || a.KeyFile != "" {
		cfg.TLSConfig.CertFile, cfg.TLSConfig.KeyFile = a.CertFile, a.KeyFile
	}
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return config.NewClientFromConfig(cfg, "bg-scrape")
}
