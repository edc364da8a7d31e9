// Threads behind an interface. A job is a number of chunks, dealt out as shares.h says; the caller works
// too: a worker that comes late, or never because its core is taken, delays nobody.
//
// Thread-safety: run() may be called from any thread at any time. Who finds the pool at work for another caller, or
// calls from inside a job, does the work alone.
#pragma once

#include <cstdint>
#include <memory>

namespace lenz::runtime {

// Work that is called with the number of a chunk and that of a worker; two chunks at one time have different workers.
struct Work {
  void (*call)(void* self, int64_t chunk, int worker);
  void* self;

  template <class F>
  static Work of(F& f) {
    return {[](void* self, int64_t chunk, int worker) { (*static_cast<F*>(self))(chunk, worker); }, &f};
  }
};

class Pool {
 public:
  virtual ~Pool() = default;
  // Workers are numbered below this, the caller is 0.
  virtual int workers() const = 0;
  // Returns when all chunks are done. Work must not throw.
  virtual void run(int64_t chunks, Work work) = 0;
  // Somebody else's threads are to work: workers leave their cores at once, until the next run.
  virtual void park() {}
  // They have worked.
  virtual void resume() {}
};

// How many threads this process may use: its affinity.
int usable_threads();
// A pool of this many threads, the caller's one of them. They take over the caller's rounding and its treatment of
// subnormals.
std::unique_ptr<Pool> make_pool(int threads);

}  // namespace lenz::runtime
