#include "corpus/store/database.h"

namespace lenz::store {

// Step i makes version i + 1 of version i. Steps are only ever added.
const std::vector<std::string_view> kSchemaSteps = {
    R"(
CREATE TABLE run (             -- one invocation that measured or searched something
  id INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,          -- fuzz, score
  version TEXT NOT NULL,       -- of Lenz, its build
  started TEXT NOT NULL,       -- UTC
  seed INTEGER NOT NULL,
  options TEXT NOT NULL        -- JSON
);
CREATE TABLE batch (           -- consecutive cases of a run that were all seen to the end
  run INTEGER NOT NULL REFERENCES run(id),
  first INTEGER NOT NULL,      -- number of its first case
  cases INTEGER NOT NULL,
  seconds REAL NOT NULL,
  counts TEXT NOT NULL,        -- JSON: ends of cases, seconds by property, why not covered
  PRIMARY KEY (run, first)
);
CREATE TABLE coverage (        -- how often a run's cases had a feature
  run INTEGER NOT NULL REFERENCES run(id),
  feature TEXT NOT NULL,
  cases INTEGER NOT NULL,
  PRIMARY KEY (run, feature)
);
CREATE TABLE signature (       -- a fault, as far as one can tell from outside; counted once
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,   -- property, stage, symptom, ops of the reduced graph
  state TEXT NOT NULL,         -- open, fixed
  text TEXT NOT NULL,          -- the smallest case known, as .lenz
  detail TEXT NOT NULL
);
CREATE TABLE finding (         -- a case that failed
  id INTEGER PRIMARY KEY,
  run INTEGER NOT NULL REFERENCES run(id),
  number INTEGER NOT NULL,     -- of the case
  property TEXT NOT NULL,
  symptom TEXT NOT NULL,
  detail TEXT NOT NULL,
  text TEXT NOT NULL,          -- the case as it was found
  signature INTEGER REFERENCES signature(id),  -- null: not looked into yet
  UNIQUE (run, number)
);
)",
    R"(
CREATE TABLE fault (           -- a fault put into the compiler on purpose, and what a run of kind score found of it
  run INTEGER NOT NULL REFERENCES run(id),
  key TEXT NOT NULL,           -- the fault as it stands in the source
  name TEXT NOT NULL,
  kind TEXT NOT NULL,          -- fault, control, or how it was made
  place TEXT NOT NULL,         -- file:line
  wrong TEXT NOT NULL,         -- what it does, for people
  killed INTEGER NOT NULL,     -- found
  by TEXT,                     -- property | symptom
  cases INTEGER NOT NULL,
  seconds REAL NOT NULL,
  others INTEGER NOT NULL,     -- findings that need no fault
  stage TEXT,                  -- that is blamed
  right INTEGER,               -- whether that is right; null: nobody asked
  reduced INTEGER,             -- nodes of the smallest case
  text TEXT,                   -- it, as .lenz
  PRIMARY KEY (run, key)
);
)",
    R"(
ALTER TABLE signature ADD COLUMN returned INTEGER REFERENCES run(id);  -- the last run that met it after it was fixed
)",
};

}  // namespace lenz::store
