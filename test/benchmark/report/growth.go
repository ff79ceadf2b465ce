package report

import "math"

// point is a value of a fleet's size.
type point struct {
	clusters int
	value    float64
}

// exponent is how a value grows with the size: value ~ size^exponent, the line through the logarithms that fits best. It needs two sizes.
func exponent(points []point) (float64, bool) {
	var n, sumX, sumY, sumXX, sumXY float64
	for _, p := range points {
		if p.clusters <= 0 || p.value <= 0 {
			continue
		}
		x, y := math.Log(float64(p.clusters)), math.Log(p.value)
		n, sumX, sumY, sumXX, sumXY = n+1, sumX+x, sumY+y, sumXX+x*x, sumXY+x*y
	}
	spread := n*sumXX - sumX*sumX
	if n < 2 || spread < 1e-9 {
		return 0, false
	}
	return (n*sumXY - sumX*sumY) / spread, true
}

// points are the values of a controller in a scenario, the smallest fleet first.
func (r *Run) points(scenario, controller string, value func(*Figures) float64) []point {
	if controller == Floor {
		return r.floorPoints(scenario, value)
	}
	var points []point
	for _, n := range r.sizes(scenario, controller) {
		points = append(points, point{n, value(r.find(scenario, controller, n))})
	}
	return points
}

func (r *Run) floorPoints(scenario string, value func(*Figures) float64) []point {
	// An abort and an update of all clusters write the same works.
	if scenario == Abort {
		scenario = All
	}
	var points []point
	for _, n := range r.sizes(scenario, Floor) {
		points = append(points, point{n, value(r.floor(scenario, n))})
	}
	return points
}

func cpu(f *Figures) float64       { return f.CPU }
func lastWrite(f *Figures) float64 { return f.LastWrite }
func complete(f *Figures) float64  { return f.Complete }
