package analysis

import (
	"encoding/xml"
	"fmt"
	"io"
)

// junitSuites is the root of JUnit's XML as CI systems read it.
type junitSuites struct {
	XMLName  xml.Name   `xml:"testsuites"`
	Tests    int        `xml:"tests,attr"`
	Failures int        `xml:"failures,attr"`
	Suite    junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Failure *junitFailure `xml:"failure,omitempty"`
	Skipped *junitSkipped `xml:"skipped,omitempty"`
	Output  string        `xml:"system-out,omitempty"`
}

type junitSkipped struct {
	Message string `xml:"message,attr"`
}

type junitFailure struct {
	Type    string `xml:"type,attr"`
	Message string `xml:"message,attr"`
}

// WriteJUnit writes findings as JUnit XML: a test for each comparison, in the class of
// its arm.
func WriteJUnit(w io.Writer, findings []Finding) error {
	suite := junitSuite{Name: "bg-analyze check", Tests: len(findings), Cases: []junitCase{}}
	for _, f := range findings {
		c := junitCase{Class: f.Arm, Name: f.name()}
		switch {
		case f.Skipped:
			suite.Skipped++
			c.Skipped = &junitSkipped{f.sentence()}
		case f.OK:
			c.Output = f.sentence()
		default:
			suite.Failures++
			c.Failure = &junitFailure{Type: "difference", Message: f.sentence()}
		}
		suite.Cases = append(suite.Cases, c)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", "  ")
	if err := encoder.Encode(junitSuites{Tests: suite.Tests, Failures: suite.Failures, Suite: suite}); err != nil {
		return fmt.Errorf("encoding findings: %w", err)
	}
	_, err := io.WriteString(w, "\n")
	return err
}
