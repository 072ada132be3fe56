package clearml

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Request is one call of the server's API: POST Path with Body as JSON.
type Request struct {
	Path string `json:"path"`
	Body any    `json:"body"`
}

// TaskEdit is the body of tasks.edit that gives a task its environment (API 2.13 and newer).
type TaskEdit struct {
	Task      string    `json:"task"`
	Container Container `json:"container"`
}

// Container is where a task's environment stands: of its arguments, the Kubernetes glue honours -e and --env only.
type Container struct {
	Arguments string `json:"arguments"`
}

// TaskEnqueue is the body of tasks.enqueue. QueueName makes the queue when it is not there (API 2.19 and newer).
type TaskEnqueue struct {
	Task               string `json:"task"`
	QueueName          string `json:"queue_name"`
	VerifyWatchedQueue bool   `json:"verify_watched_queue,omitempty"` // refuse a queue that no agent pulls from (API 2.22)
}

// TaskOptions is what a task takes along.
type TaskOptions struct {
	Env    map[string]string // NCCL's environment
	Verify bool              // ask the server to refuse a queue without agents
}

var (
	taskID  = regexp.MustCompile(`^[0-9a-zA-Z_-]{1,64}$`)
	envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// Enqueue gives the requests that put a task into a queue, in order. The task must be in the state "created" with a repository
// and an entry point.
func Enqueue(task, queue string, o TaskOptions) ([]Request, error) {
	if !taskID.MatchString(task) {
		return nil, fmt.Errorf("task %q: must be a ClearML task id", task)
	}
	if queue == "" || strings.ContainsAny(queue, "\n\r\t") {
		return nil, errors.New("a queue name must be given, without control characters")
	}
	var requests []Request
	if len(o.Env) > 0 {
		arguments, err := envArguments(o.Env)
		if err != nil {
			return nil, err
		}
		requests = append(requests, Request{"/tasks.edit", TaskEdit{Task: task, Container: Container{Arguments: arguments}}})
	}
	return append(requests, Request{"/tasks.enqueue", TaskEnqueue{Task: task, QueueName: queue, VerifyWatchedQueue: o.Verify}}), nil
}

// envArguments writes "-e NAME=value" for each variable, sorted. The arguments are cut at blanks, so a value has none.
func envArguments(env map[string]string) (string, error) {
	names := make([]string, 0, len(env))
	for n := range env {
		names = append(names, n)
	}
	slices.Sort(names)
	var parts []string
	for _, n := range names {
		if !envName.MatchString(n) {
			return "", fmt.Errorf("variable %q: must be letters, digits and '_', and start with no digit", n)
		}
		if strings.ContainsAny(env[n], " \t\n\r\"'\\") {
			return "", fmt.Errorf("variable %s = %q: must have no blanks, quotes and backslashes in container arguments", n, env[n])
		}
		parts = append(parts, "-e "+n+"="+env[n])
	}
	return strings.Join(parts, " "), nil
}

// EncodeRequests writes requests as JSON.
func EncodeRequests(requests []Request) ([]byte, error) {
	return encode(struct {
		Requests []Request `json:"requests"`
	}{requests})
}
