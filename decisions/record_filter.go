package decisions

import "time"

// RecordFilter selects records of the journal. Its JSON is the params of the
// management methods that list records; what has no name there, only programs that
// open the journal themselves can ask for.
type RecordFilter struct {
	// Limit is the maximum number of records; 0 is the default of the journal, or of the
	// method.
	Limit int `json:"limit,omitzero"`
	// After and Before bound the sequence number, both exclusive; 0 means none. With
	// After set, the records that follow it are listed, otherwise the newest ones.
	After  int64 `json:"after,omitzero"`
	Before int64 `json:"before,omitzero"`
	// Since and Until bound the time: at or after, and before.
	Since   time.Time `json:"since,omitzero"`
	Until   time.Time `json:"-"`
	Verdict Verdict   `json:"verdict,omitzero"`
	By      DecidedBy `json:"-"`
	Session string    `json:"session,omitzero"`
	Agent   string    `json:"-"`
	Tool    string    `json:"tool,omitzero"`
	UID     *uint32   `json:"-"`
	// Unapproved selects calls that ran without having been allowed: RanUnprompted and
	// RanDespiteDeny.
	Unapproved bool `json:"unasked,omitzero"`
}
