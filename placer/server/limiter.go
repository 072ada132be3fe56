package server

import (
	"errors"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// limiter keeps a rate for each identity and kind of request.
type limiter struct {
	mu sync.Mutex
	by map[string]*limited
}

type limited struct {
	rate *rate.Limiter
	last time.Time
}

func newLimiter() *limiter { return &limiter{by: map[string]*limited{}} }

// tooFast is the error of a refused request.
type tooFast struct{ after time.Duration }

func (e *tooFast) Error() string { return "too many requests" }

// allow takes one from the identity's budget.
func (l *limiter) allow(key string, every rate.Limit, burst int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.by[key]
	if e == nil {
		l.prune()
		e = &limited{rate: rate.NewLimiter(every, burst)}
		l.by[key] = e
	}
	e.last = time.Now()
	if r := e.rate.Reserve(); r.Delay() > 0 {
		wait := r.Delay()
		r.Cancel()
		return errors.Join(&tooFast{wait}, problem(http.StatusTooManyRequests, codeRateLimited, "this identity asks too often", "wait as long as Retry-After says"))
	}
	return nil
}

// prune forgets identities that were silent for ten minutes, when there are many.
func (l *limiter) prune() {
	if len(l.by) < maxIdentities {
		return
	}
	for k, e := range l.by {
		if time.Since(e.last) > 10*time.Minute {
			delete(l.by, k)
		}
	}
}

// retryAfter is the seconds to wait, rounded up.
func retryAfter(err error) int {
	if t, ok := errors.AsType[*tooFast](err); ok {
		return int((t.after + time.Second - 1) / time.Second)
	}
	return 1
}
