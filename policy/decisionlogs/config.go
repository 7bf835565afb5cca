package decisionlogs

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/policy/decisionlogs/masking"
)

// Defaults and bounds of the configuration, those of OPA but for the largest.
const (
	defaultMinDelay    = 300 * time.Second
	defaultMaxDelay    = 600 * time.Second
	defaultUploadLimit = 32 << 10
	minUploadLimit     = 4 << 10
	maxUploadLimit     = 16 << 20
	maxDelay           = 24 * time.Hour
)

// Config is the decision_logs stanza of OPA's configuration.
type Config struct {
	// Service is the name of the service that the log is sent to.
	Service string
	// Path is where it is sent at the service, "logs" if nothing else is configured.
	Path string
	// After an upload the next one begins between MinDelay and MaxDelay later; after failures
	// the delay grows up to MaxDelay.
	MinDelay, MaxDelay time.Duration
	// UploadLimit bounds an upload as it is sent, compressed, in bytes.
	UploadLimit int
	// Mask and Drop are the decisions that mask and drop events, as [masking.DefaultMask].
	Mask, Drop string
}

// ParseConfig reads a decision_logs stanza in JSON, which has no other members than package
// management knows.
func ParseConfig(data []byte) (c Config, err error) {
	var raw struct {
		Service   string  `json:"service"`
		Resource  *string `json:"resource"`
		Partition string  `json:"partition_name"`
		Reporting struct {
			Min   *int64 `json:"min_delay_seconds"`
			Max   *int64 `json:"max_delay_seconds"`
			Limit *int64 `json:"upload_size_limit_bytes"`
		} `json:"reporting"`
		Mask *string `json:"mask_decision"`
		Drop *string `json:"drop_decision"`
	}
	if err := strictjson.UnmarshalMessage(data, &raw); err != nil {
		return c, fmt.Errorf("decision_logs: %w", err)
	}
	c = Config{Service: raw.Service, Mask: masking.DefaultMask, Drop: masking.DefaultDrop}
	if c.Service == "" {
		return c, errors.New("decision_logs.service names no service")
	}
	switch {
	case raw.Resource != nil && raw.Partition != "":
		return c, errors.New("decision_logs: resource and partition_name exclude each other")
	case raw.Resource != nil:
		c.Path = strings.Trim(*raw.Resource, "/")
	case raw.Partition != "":
		c.Path = "logs/" + url.PathEscape(raw.Partition)
	default:
		c.Path = "logs"
	}
	if c.Path == "" {
		return c, errors.New("decision_logs.resource is empty")
	}
	if raw.Mask != nil {
		c.Mask = *raw.Mask
	}
	if raw.Drop != nil {
		c.Drop = *raw.Drop
	}
	r := &raw.Reporting
	if c.MinDelay, err = delay("min_delay_seconds", r.Min, defaultMinDelay); err != nil {
		return c, err
	}
	if c.MaxDelay, err = delay("max_delay_seconds", r.Max, max(c.MinDelay, defaultMaxDelay)); err != nil {
		return c, err
	}
	if r.Min == nil {
		c.MinDelay = min(c.MinDelay, c.MaxDelay)
	}
	if c.MinDelay > c.MaxDelay {
		return c, errors.New("decision_logs.reporting: min_delay_seconds is larger than max_delay_seconds")
	}
	limit := cmp.Or(deref(r.Limit), defaultUploadLimit)
	if limit < minUploadLimit || limit > maxUploadLimit {
		return c, fmt.Errorf("decision_logs.reporting.upload_size_limit_bytes must be between %d and %d", minUploadLimit, maxUploadLimit)
	}
	c.UploadLimit = int(limit)
	return c, nil
}

func deref(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

func delay(name string, seconds *int64, standard time.Duration) (time.Duration, error) {
	if seconds == nil {
		return standard, nil
	}
	if *seconds < 1 || *seconds > int64(maxDelay/time.Second) {
		return 0, fmt.Errorf("decision_logs.reporting.%s must be between 1 and %d", name, maxDelay/time.Second)
	}
	return time.Duration(*seconds) * time.Second, nil
}
