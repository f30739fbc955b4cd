package main

// goal is the bound of a figure that is good enough. One of the two is set.
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
		return "0" // nothing that is counted here can be less
	}
	return "≤ " + number(*g.AtMost)
}
