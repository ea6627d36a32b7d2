// include/lemma/c/stream.h.
#include "lemma/stream.h"

#include "capi/failure.h"
#include "capi/handles.h"
#include "lemma/c/stream.h"

#include <stdexcept>

using namespace lemma::capi;

struct lemma_stream {
  lemma::Stream stream;
};

struct lemma_event {
  lemma::Event event;
};

namespace lemma::capi {
namespace {

// Keeps the observer as long as the launch.
Stream::Done done_of(const lemma_launch_done& wanted, std::shared_ptr<LaunchObserver> observer) {
  return [wanted, observer = std::move(observer)](Result<Report, Error> ended) {
    if (!wanted.call)
      return;
    const lemma_report* report = nullptr;
    const lemma_error* error = guarded([&] { report = new HeldReport(unwrap(std::move(ended))); });
    wanted.call(wanted.user, report, error);
  };
}

} // namespace
} // namespace lemma::capi

const lemma_error* lemma_stream_create(lemma_device* device, const lemma_stream_options* options,
                                       lemma_stream** stream) {
  return guarded([&] {
    const lemma_stream_options wanted = taken(options, "lemma_stream_create: options");
    lemma_stream*& made = given(stream, "lemma_stream_create: stream");
    made = new lemma_stream{given(device, "lemma_stream_create: device")
                                .device.create_stream({.non_blocking = wanted.non_blocking})};
  });
}

const lemma_error* lemma_stream_default(lemma_device* device, lemma_stream** stream) {
  return guarded([&] {
    lemma_stream*& made = given(stream, "lemma_stream_default: stream");
    made = new lemma_stream{given(device, "lemma_stream_default: device").device.default_stream()};
  });
}

const lemma_error* lemma_stream_thread_default(lemma_device* device, lemma_stream** stream) {
  return guarded([&] {
    lemma_stream*& made = given(stream, "lemma_stream_thread_default: stream");
    made =
        new lemma_stream{given(device, "lemma_stream_thread_default: device").device.thread_default_stream()};
  });
}

void lemma_stream_release(lemma_stream* stream) {
  delete stream;
}

const lemma_error* lemma_stream_launch(lemma_stream* stream, lemma_module* module, const char* kernel,
                                       const lemma_launch_config* config, const lemma_bytes* arguments,
                                       size_t argument_count, const lemma_launch_done* done) {
  return guarded([&] {
    const lemma_launch_done wanted = taken(done, "lemma_stream_launch: done");
    const lemma::Stream& queue = given(stream, "lemma_stream_launch: stream").stream;
    const lemma::Kernel found = given(module, "lemma_stream_launch: module").kernel(kernel);
    HeldConfig held = launch_config(config);
    unwrap(queue.launch(found, held.config, arguments_of(arguments, argument_count, "lemma_stream_launch"),
                        done_of(wanted, std::move(held.observer))));
  });
}

const lemma_error* lemma_stream_write(lemma_stream* stream, uint64_t address, const void* source,
                                      uint64_t size_bytes) {
  return guarded([&] {
    unwrap(given(stream, "lemma_stream_write: stream")
               .stream.write(address,
                             bytes_of<const std::byte>(source, size_bytes, "lemma_stream_write: source")));
  });
}

const lemma_error* lemma_stream_read(lemma_stream* stream, void* destination, uint64_t address,
                                     uint64_t size_bytes) {
  return guarded([&] {
    unwrap(given(stream, "lemma_stream_read: stream")
               .stream.read(address,
                            bytes_of<std::byte>(destination, size_bytes, "lemma_stream_read: destination")));
  });
}

const lemma_error* lemma_stream_fill(lemma_stream* stream, uint64_t address, uint8_t value,
                                     uint64_t size_bytes) {
  return guarded(
      [&] { unwrap(given(stream, "lemma_stream_fill: stream").stream.fill(address, size_bytes, value)); });
}

const lemma_error* lemma_stream_copy(lemma_stream* stream, uint64_t to, uint64_t from, uint64_t size_bytes) {
  return guarded(
      [&] { unwrap(given(stream, "lemma_stream_copy: stream").stream.copy(to, from, size_bytes)); });
}

const lemma_error* lemma_stream_call(lemma_stream* stream, const lemma_host_function* function) {
  return guarded([&] {
    given(function, "lemma_stream_call: function");
    const lemma_host_function wanted = taken(function, "lemma_stream_call: function");
    if (!wanted.call)
      invalid("lemma_stream_call: function.call is null");
    unwrap(given(stream, "lemma_stream_call: stream").stream.call([wanted] {
      if (const lemma_error* error = wanted.call(wanted.user)) {
        const std::string text = error->text;
        lemma_error_release(error);
        throw std::runtime_error(text);
      }
    }));
  });
}

bool lemma_stream_is_done(const lemma_stream* stream) {
  return !stream || stream->stream.is_done();
}

const lemma_error* lemma_stream_synchronize(lemma_stream* stream) {
  return guarded([&] { unwrap(given(stream, "lemma_stream_synchronize: stream").stream.synchronize()); });
}

const lemma_error* lemma_device_synchronize(lemma_device* device) {
  return guarded([&] { unwrap(given(device, "lemma_device_synchronize: device").device.synchronize()); });
}

const lemma_error* lemma_stream_record(lemma_stream* stream, lemma_event** event) {
  return guarded([&] {
    lemma_event*& made = given(event, "lemma_stream_record: event");
    made = new lemma_event{unwrap(given(stream, "lemma_stream_record: stream").stream.record())};
  });
}

void lemma_event_release(lemma_event* event) {
  delete event;
}

const lemma_error* lemma_stream_wait(lemma_stream* stream, const lemma_event* event) {
  return guarded([&] {
    unwrap(given(stream, "lemma_stream_wait: stream")
               .stream.wait(given(event, "lemma_stream_wait: event").event));
  });
}

bool lemma_event_is_done(const lemma_event* event) {
  return !event || event->event.is_done();
}

const lemma_error* lemma_event_synchronize(const lemma_event* event) {
  return guarded([&] { unwrap(given(event, "lemma_event_synchronize: event").event.synchronize()); });
}

const lemma_error* lemma_event_elapsed(const lemma_event* begin, const lemma_event* end, double* seconds) {
  return guarded([&] {
    double& out = given(seconds, "lemma_event_elapsed: seconds");
    out = unwrap(lemma::Event::elapsed_seconds(given(begin, "lemma_event_elapsed: begin").event,
                                               given(end, "lemma_event_elapsed: end").event));
  });
}
