package wire

// Fault is an error as a client sees it.
type Fault struct {
	// Namespace and Shape make the type of the JSON protocol.
	Namespace string
	Shape     string
	// Code is the code of the Query protocol, which JSON names in a header.
	Code    string
	Status  int
	Sender  bool
	Message string
}

// Type is the fault's side: Sender or Receiver.
func (f *Fault) Type() string {
	if f.Sender {
		return "Sender"
	}
	return "Receiver"
}

// QueryError is the value of the header x-amzn-query-error.
func (f *Fault) QueryError() string { return f.Code + ";" + f.Type() }

// Fault writes an error.
func (e *Encoder) Fault(f *Fault) {
	switch e.format {
	case JSON:
		e.raw("{")
		e.str("__type", f.Namespace+"#"+f.Shape)
		e.str("message", f.Message)
		e.raw("}")
	case XML:
		if e.action == "" && f.Status == 404 {
			// What AWS answers to a request that names no action.
			e.raw("<" + f.Shape + "/>")
			return
		}
		e.raw(`<?xml version="1.0"?><ErrorResponse xmlns="` + namespace + `"><Error>`)
		e.str("Type", f.Type())
		e.str("Code", f.Code)
		e.str("Message", f.Message)
		e.raw("<Detail/></Error>")
		e.str("RequestId", e.requestID)
		e.raw("</ErrorResponse>")
	case QueryJSON:
		if e.action == "" && f.Status == 404 {
			e.raw("<" + f.Shape + "/>")
			return
		}
		e.raw(`{"Error":{`)
		e.str("Type", f.Type())
		e.str("Code", f.Code)
		e.str("Message", f.Message)
		e.raw(`},"RequestId":`)
		e.quote(e.requestID)
		e.raw("}")
	}
}
