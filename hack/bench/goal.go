package main

// goal is a bound for a figure. Exactly one of the fields is set.
type goal struct {
	AtMost  *float64 `json:"atMost,omitempty"`
	AtLeast *float64 `json:"atLeast,omitempty"`
}

func atMost(bound float64) *goal { return &goal{AtMost: &bound} }

func atLeast(bound float64) *goal { return &goal{AtLeast: &bound} }

func (g goal) isMetBy(figure float64) bool {
	if g.AtLeast != nil {
		return figure >= *g.AtLeast
	}
	return figure <= *g.AtMost
}

func (g goal) String() string {
	switch {
	case g.AtLeast != nil:
		return "≥ " + number(*g.AtLeast)
	case *g.AtMost == 0:
		return "0" // these figures cannot be negative
	}
	return "≤ " + number(*g.AtMost)
}
