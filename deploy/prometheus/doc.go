// Package prometheus holds the rules for Prometheus, and tests that hold them and the dashboards of Grafana against real tools.
package prometheus
