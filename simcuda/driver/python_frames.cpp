// SPDX-License-Identifier: BSD-3-Clause
#include "python_frames.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>

namespace simcuda {
namespace {

// The parts of Python's API that are needed, the same since 3.10.
struct Python {
  using Object = void;
  using State = void;
  int (*is_initialised)();
  int (*is_finalising)();
  State *(*state_of_thread)();
  State *(*current_state)();  // the calling thread's, if it holds the GIL
  int (*ensure)();
  void (*release)(int);
  Object *(*frame_of)(State *);
  Object *(*back)(Object *);
  Object *(*code)(Object *);
  int (*line)(Object *);
  Object *(*attribute)(Object *, const char *);
  const char *(*text)(Object *);
  void (*let_go)(Object *);
  void (*fetch_error)(Object **, Object **, Object **);
  void (*restore_error)(Object *, Object *, Object *);
  bool has_lock = true;  // free-threaded builds have no lock that a thread could hold for long

  static const Python *found() {
    static const Python python;
    return python.whole_ ? &python : nullptr;
  }

 private:
  bool whole_ = true;

  Python() {
    find(is_initialised, "Py_IsInitialized");
    find(state_of_thread, "PyGILState_GetThisThreadState");
    find(ensure, "PyGILState_Ensure");
    find(release, "PyGILState_Release");
    find(frame_of, "PyThreadState_GetFrame");
    find(back, "PyFrame_GetBack");
    find(code, "PyFrame_GetCode");
    find(line, "PyFrame_GetLineNumber");
    find(attribute, "PyObject_GetAttrString");
    find(text, "PyUnicode_AsUTF8");
    find(let_go, "Py_DecRef");
    find(fetch_error, "PyErr_Fetch");
    find(restore_error, "PyErr_Restore");
    has_lock = !dlsym(RTLD_DEFAULT, "PyUnstable_Module_SetGIL");
    find(is_finalising, "Py_IsFinalizing", "_Py_IsFinalizing");
    find(current_state, "PyThreadState_GetUnchecked", "_PyThreadState_UncheckedGet");
  }

  // The other name is that before 3.13.
  template <class Function>
  void find(Function &function, const char *name, const char *other_name = "") {
    void *found = dlsym(RTLD_DEFAULT, name);
    if (!found) found = dlsym(RTLD_DEFAULT, other_name);
    function = reinterpret_cast<Function>(found);
    whole_ = whole_ && function;
  }
};

std::string attribute(const Python &python, Python::Object *object, const char *name) {
  Python::Object *value = python.attribute(object, name);
  const char *text = value ? python.text(value) : nullptr;
  std::string copy = text ? text : "?";
  if (value) python.let_go(value);
  return copy;
}

// The calling thread must hold the GIL.
std::vector<Frame> frames_of(const Python &python, Python::State *state) {
  Python::Object *type, *value, *traceback;
  python.fetch_error(&type, &value, &traceback);
  std::vector<Frame> frames;
  Python::Object *frame = python.frame_of(state);
  while (frame) {
    Python::Object *code = python.code(frame);
    frames.push_back({attribute(python, code, "co_filename"),
                      static_cast<std::uint64_t>(python.line(frame)),
                      attribute(python, code, "co_name")});
    python.let_go(code);
    Python::Object *back = frames.size() < most_frames ? python.back(frame) : nullptr;
    python.let_go(frame);
    frame = back;
  }
  python.restore_error(type, value, traceback);
  return frames;
}

// A client may wait for a lock of its own while it holds the GIL, and another thread may call the
// driver while it holds that lock. This works with a real driver, which never takes the GIL. So the
// calling thread must not wait for the GIL indefinitely. Another thread takes it instead, and reads
// the caller's frames, which do not change meanwhile.
class Asker {
 public:
  static Asker &get() {
    static auto *only = new Asker;
    return *only;
  }

  std::vector<Frame> frames_of(const Python &python, Python::State *state) {
    std::unique_lock lock(mutex_);
    if (is_me_ || misses_ >= most_misses || !is_started(python)) return {};
    answered_.wait_until(lock, latest(), [&] { return !question_ || misses_ >= most_misses; });
    if (question_) {
      ++misses_;
      return {};
    }
    const auto mine = std::make_shared<Question>();
    mine->state = state;
    question_ = mine;
    asked_.notify_one();
    if (!answered_.wait_until(lock, latest(), [&] { return mine->is_answered; })) {
      mine->is_withdrawn = true;
      ++misses_;
      answered_.notify_all();
    }
    return std::move(mine->frames);
  }

 private:
  struct Question {
    Python::State *state = nullptr;
    bool is_answered = false, is_withdrawn = false;
    std::vector<Frame> frames;
  };

  // A client that often holds the GIL should not be slowed down forever.
  static constexpr int most_misses = 10;

  static std::chrono::steady_clock::time_point latest() {
    return std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
  }

  bool is_started(const Python &python) {
    if (!thread_) {
      python_ = &python;
      sigset_t all, before;
      sigfillset(&all);  // signals are for the client's threads
      pthread_sigmask(SIG_SETMASK, &all, &before);
      pthread_t thread;
      const int failed = pthread_create(&thread, nullptr, answer_all, this);
      pthread_sigmask(SIG_SETMASK, &before, nullptr);
      if (failed) return false;
      pthread_detach(thread);
      thread_ = true;
    }
    return true;
  }

  // Python ends a thread that asks for the GIL too late, by pthread_exit(). No object with a
  // destructor may be alive here then: the process would abort, since this library has an unwinder
  // of its own inside, which does not know the frames of the system's.
  static void *answer_all(void *self) {
    is_me_ = true;
    Asker &asker = *static_cast<Asker *>(self);
    for (;;) {
      asker.take();
      const int state = asker.python_->ensure();
      asker.read();
      asker.python_->release(state);
      asker.answer();
    }
  }

  void take() {
    std::unique_lock lock(mutex_);
    asked_.wait(lock, [&] { return question_ != nullptr; });
    taken_ = question_;
  }

  // A thread that gave up earlier may have ended. One that gives up now needs the GIL to end.
  void read() {
    {
      std::lock_guard lock(mutex_);
      if (taken_->is_withdrawn) return;
    }
    found_ = simcuda::frames_of(*python_, taken_->state);
  }

  void answer() {
    std::lock_guard lock(mutex_);
    taken_->frames = std::exchange(found_, {});
    taken_->is_answered = true;
    taken_ = question_ = nullptr;
    answered_.notify_all();
  }

  static thread_local bool is_me_ __attribute__((tls_model("initial-exec")));
  const Python *python_ = nullptr;
  std::mutex mutex_;
  std::condition_variable asked_, answered_;
  std::shared_ptr<Question> question_;
  std::shared_ptr<Question> taken_;  // these two are the answering thread's
  std::vector<Frame> found_;
  int misses_ = 0;
  bool thread_ = false;
};

thread_local bool Asker::is_me_;

}  // namespace

std::vector<Frame> python_frames() {
  const Python *python = Python::found();
  if (!python || !python->is_initialised() || python->is_finalising()) return {};
  Python::State *state = python->state_of_thread();
  if (!state) return {};  // a thread without Python has no frames
  if (python->current_state() == state) return frames_of(*python, state);
  if (python->has_lock) return Asker::get().frames_of(*python, state);
  const int before = python->ensure();
  std::vector<Frame> frames = frames_of(*python, state);
  python->release(before);
  return frames;
}

bool holds_gil() {
  const Python *python = Python::found();
  if (!python || !python->has_lock || !python->is_initialised()) return false;
  const Python::State *state = python->state_of_thread();
  return state && python->current_state() == state;
}

}  // namespace simcuda
