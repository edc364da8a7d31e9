// A campaign: cases by number, in worker processes, into a store; what fails is run alone, reduced, named, counted
// once.
//
// A batch of cases is in the store whole or not at all, so a campaign that was killed goes on where it was: batches
// that are not there are run again, findings without a signature are looked into again. Thread-safety: one campaign per
// process, from a thread that has run nothing of libtorch (oracle/workers.h).
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "corpus/store/database.h"
#include "fuzz/bug_pattern.h"
#include "fuzz/case.h"
#include "fuzz/coverage.h"

namespace lenz::fuzz {

struct CampaignOptions {
  uint64_t seed = 0;
  uint64_t first = 0, cases = 0;  // cases: 0: until the time is up
  double seconds = 0;             // 0: until the cases are done
  int workers = 0;                // 0: as many as this process may use cores
  std::vector<const Property*> only;
  std::string target;                              // of machine code
  std::string out;                                 // folder of findings and of the store
  bool resume = false;                             // goes on with the last campaign in the store
  bool first_finding = false;                      // ends with it, and does not look into it
  std::vector<uint64_t> leave_out = {};            // cases that are known to fail, whoever is asked
  bool decisions = true;                           // changes of policy are findings (properties/decisions.cpp)
  bool progress = true;                            // on stderr
  std::function<void(uint64_t seed)> begins = {};  // told before the first case
  // Other cases than those that the seed draws, by number; `cases_are` says which, so that the same ones are resumed.
  std::function<Case(uint64_t number)> source = {};
  std::string cases_are = {};
  std::vector<BugPattern> issues = {};  // a finding whose smallest graph matches one looks like that issue
  size_t slowest = 0;                   // how many of the costliest cases the summary is to name
  int reductions = 4;                   // of findings that fail one property with one symptom; the others are counted
  double reduce_seconds = 40;
};

struct CampaignSummary {
  uint64_t seed = 0;
  uint64_t cases = 0, held = 0, refused = 0, not_covered = 0, found = 0;
  uint64_t killed = 0;    // workers that somebody killed: what they were at was run again
  uint64_t given_up = 0;  // cases that were not run: too many before them killed their process
  double seconds = 0;
  uint64_t calls = 0, refused_calls = 0;  // of the generator
  std::map<std::string, double> property_seconds;
  std::map<std::string, uint64_t> property_cases, why_not;
  struct Finding {
    std::string name, file;
    uint64_t cases = 0;
    bool looked_into = true;
    // known: a run before this one met it, and nobody has mended it since; back: somebody had.
    std::string looks_like = {};  // numbers of issues
    enum News : uint8_t { fresh, known, back } news = fresh;
  };
  std::vector<Finding> findings;
  uint64_t features = 0;
  std::vector<Unreached> unreached;
  // What took longest: the processor's time that one case took of one property.
  struct Slow {
    double seconds = 0;
    uint64_t number = 0;
    std::string property;
  };
  std::vector<Slow> slowest;  // the slowest first
  bool interrupted = false;
};
// A compiler that refuses what it should take fails no property. Of a hundred cases one is covered in part.
bool leaves_too_many_out(const CampaignSummary& summary);
// Of what is nonlinear some proof is always missing (compiler/loops/linear.h), but of one case in thousands: where it
// is of more than one in two thousand, the proofs got worse.
uint64_t lacking_proofs(const CampaignSummary& summary);  // how many cases
bool lacks_too_many_proofs(const CampaignSummary& summary);

// What is filed as open, run again: what holds now is filed as fixed, and is news again when it comes back.
struct Filed {
  std::string name;
  bool fixed = false;
};
std::vector<Filed> recheck_filed(const std::string& out);

CampaignSummary run_campaign(const CampaignOptions& options);

}  // namespace lenz::fuzz
