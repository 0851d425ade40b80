package sigv4

import (
	"net/http"
	"strings"
)

// readHeader reads
//
//	AWS4-HMAC-SHA256 Credential=..., SignedHeaders=..., Signature=...
//
// The order of the three is free, and so is the space after a comma.
func (c *claim) readHeader(authorization string, h http.Header) error {
	name, rest, _ := strings.Cut(authorization, " ")
	if name != algorithm {
		return refuse(Incomplete, "Unsupported AWS 'algorithm': '%s'", clip(name, maxEcho))
	}
	var credential, signed, signature string
	for part := range strings.SplitSeq(rest, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		var to *string
		switch name {
		case "Credential":
			to = &credential
		case "SignedHeaders":
			to = &signed
		case "Signature":
			to = &signature
		default:
			return refuse(Incomplete, "The Authorization header has an unknown parameter '%s'.", clip(name, maxEcho))
		}
		if *to != "" {
			return refuse(Incomplete, "The Authorization header has the parameter '%s' twice.", name)
		}
		*to = value
	}
	missing := ""
	for _, need := range []struct{ name, value string }{{"Credential", credential}, {"Signature", signature}, {"SignedHeaders", signed}} {
		if need.value == "" {
			missing += "Authorization header requires '" + need.name + "' parameter. "
		}
	}
	if missing != "" {
		return refuse(Incomplete, "%s", strings.TrimSuffix(missing, " "))
	}
	if err := c.setCredential(credential); err != nil {
		return err
	}
	if err := c.setSigned(signed); err != nil {
		return err
	}
	if err := c.setSignature(signature); err != nil {
		return err
	}
	return c.readDate(h)
}

// readDate reads the time from X-Amz-Date, else from Date.
func (c *claim) readDate(h http.Header) error {
	name, signed := headerDate, "x-amz-date"
	if len(h[name]) == 0 {
		name, signed = "Date", "date"
	}
	switch values := h[name]; {
	case len(values) == 0:
		return refuse(Incomplete, "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header.")
	case len(values) > 1:
		return refuse(Incomplete, "The request has more than one '%s' header.", name)
	case !c.signs(signed):
		return refuse(Incomplete, "'%s' must be a 'SignedHeader' in the AWS Authorization.", name)
	case name == "Date":
		if t, err := http.ParseTime(values[0]); err == nil {
			return c.setTime(t.UTC().Format(timeFormat))
		}
		return c.setTime(values[0])
	default:
		return c.setTime(values[0])
	}
}
