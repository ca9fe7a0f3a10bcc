package router

import (
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"time"
)

// quantity is a Kubernetes quantity such as 2000, "1.5" or "500Mi", as the whole
// number that the endpoint picker makes of it: rounded away from zero.
type quantity struct{ n int64 }

var quantityForm = regexp.MustCompile(`^([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))(?:[eE]([+-]?[0-9]{1,3})|([numkMGTPE]|[KMGTPE]i))?$`)

// Powers of ten, and of two for the forms with an i (apimachinery, resource.Quantity).
var (
	decimalSuffix = map[string]int{"": 0, "n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
	binarySuffix  = map[string]uint{"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
)

// UnmarshalText implements encoding.TextUnmarshaler.
func (q *quantity) UnmarshalText(text []byte) error {
	parts := quantityForm.FindStringSubmatch(string(text))
	if parts == nil {
		return fmt.Errorf("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$': found %q", text)
	}
	r, ok := new(big.Rat).SetString(parts[1])
	if !ok {
		return fmt.Errorf("quantity %q is not a number", text)
	}
	if bits, ok := binarySuffix[parts[3]]; ok {
		r.Mul(r, new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), bits)))
	} else {
		power := decimalSuffix[parts[3]]
		if parts[2] != "" {
			power, _ = strconv.Atoi(parts[2]) // three digits at most
		}
		scale := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(power, -power))), nil))
		if power < 0 {
			scale.Inv(scale)
		}
		r.Mul(r, scale)
	}
	q.n = awayFromZero(r)
	return nil
}

func awayFromZero(r *big.Rat) int64 {
	n, rest := new(big.Int).QuoRem(r.Num(), r.Denom(), new(big.Int))
	n.Add(n, big.NewInt(int64(rest.Sign())))
	switch {
	case n.IsInt64():
		return n.Int64()
	case n.Sign() < 0:
		return math.MinInt64
	}
	return math.MaxInt64
}

// duration is a Go duration written as text, as metav1.Duration is.
type duration struct{ d time.Duration }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil {
		return err
	}
	d.d = parsed
	return nil
}
