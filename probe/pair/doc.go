// Package pair measures between nodes: bandwidth and latency of pairs, in rounds in which pairs do not disturb each other,
// and names the culprit when some of them are slow.
//
//	site.go     what is known of the cluster: nodes, groups, uplinks
//	plan.go     rounds by the circle method, within a budget of time
//	blame.go    from slow pairs to nodes, NICs, uplinks and cables
//
// A plan keeps two promises: a node stands in at most one pair of a round, and a shared uplink carries at most half of what
// it can, except in loaded rounds, which fill the uplinks of one level on purpose. One process coordinates; the others join
// it with a token and do only what it says. The round's clock is the coordinator's: a node that dies, hangs or is slow costs
// its own pairs.
//
//	plan, err := pair.NewPlan(pair.SiteOf(topo, nil), pair.PlanOptions{Tiers: pair.DefaultTiers(), RoundSeconds: 10})
package pair
