// Package command runs a program for as long as something of ours has to live
// beside it: a stack, a scraper.
//
// It hands over signals exactly once, passes the exit code back and takes the
// program down with this process. pkg/deploy and pkg/scrape call it.
package command
