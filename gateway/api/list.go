package api

import "strconv"

// CheckList checks MaxResults of a list and returns it, or the page size of a
// request without one.
func CheckList(max Int) (int, error) {
	if max.Set && (max.Value < 1 || max.Value > MaxListResults) {
		return 0, InvalidValue("MaxResults", strconv.FormatInt(max.Value, 10), "MaxResults must be an integer between 1 and 1000.")
	}
	return int(max.Or(MaxListResults)), nil
}
