package main

import (
	ucli "github.com/urfave/cli/v2"

	"bgbench/pkg/scrape"
)

// accessFlags say how to get at servers that do not let everybody in.
func accessFlags() []ucli.Flag {
	return []ucli.Flag{
		&ucli.StringFlag{Name: "bearer-token-file", Usage: "`FILE` with the bearer token"},
		&ucli.StringFlag{Name: "username", Usage: "`NAME` for basic authentication"},
		&ucli.StringFlag{Name: "password-file", Usage: "`FILE` with the password for basic authentication"},
		&ucli.StringFlag{Name: "ca-file", Usage: "`FILE` with the certificates of who signed the servers'"},
		&ucli.StringFlag{Name: "cert-file", Usage: "`FILE` with the client's certificate"},
		&ucli.StringFlag{Name: "key-file", Usage: "`FILE` with the client's key"},
		&ucli.StringFlag{Name: "http-config", Usage: "`FILE` with all that and more, as promtool's --http.config.file"},
	}
}

func access(c *ucli.Context) scrape.Access {
	return scrape.Access{
		BearerTokenFile: c.String("bearer-token-file"),
		Username:        c.String("username"), PasswordFile: c.String("password-file"),
		CAFile: c.String("ca-file"), CertFile: c.String("cert-file"), KeyFile: c.String("key-file"),
		ConfigFile: c.String("http-config"),
	}
}
