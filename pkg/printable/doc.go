// Package printable makes text that came from elsewhere, a server or a file, fit for a
// terminal and a page: it can neither move the cursor, colour what follows nor turn the
// direction of reading.
package printable
