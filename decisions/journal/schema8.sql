-- Version 8 adds what names the decisions of a span have, and how many there are of what, so
-- that few records are read to find or count them. It changes no row of version 7.

-- A row for each span whose decisions are all stored; one that is not there yet is made
-- later (names.go). Package names has the form of the values. All follow from the
-- decisions: what is removed of these is removed here in the same transaction.
CREATE TABLE names (
  span     INTEGER PRIMARY KEY,          -- as in spans
  decided  BLOB,                         -- verdicts; NULL if the records must be read
  counts   BLOB,                         -- by agent, tool, decider and verdict
  projects BLOB,
  programs BLOB,
  hosts    BLOB,
  paths    BLOB
) STRICT;
