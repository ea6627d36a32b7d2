// --json: the public API's structures as JSON objects, and standard output kept clean for them.
//
// Tests: tests/cli/.
#pragma once

#include "compare.h"

#include "lemma/lemma.h"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace lemma::cli {

nlohmann::json to_json(const Message& message);
nlohmann::json json_of(const Place& place);
nlohmann::json to_json(const std::vector<Message>& messages);
nlohmann::json to_json(const Error& error);
nlohmann::json to_json(const Stats& stats);
nlohmann::json to_json(const Fault& fault);
nlohmann::json to_json(const Waiting& waiting);
nlohmann::json to_json(const UninitializedRead& read);
nlohmann::json to_json(const std::vector<Finding>& findings);
nlohmann::json to_json(const std::vector<ExecutedForm>& forms);
nlohmann::json to_json(const Comparison& comparison);

// Says on standard error why a command could not be obeyed, as one line or several, and with `json` on
// standard output too: {"exit_status", "error"}. Returns the exit status: 3 for what is unsupported, else 2.
int refuse(bool json, const std::string& text, ErrorKind kind = ErrorKind::invalid_argument);

// While it lives, whatever the process writes to standard output goes to standard error: device printf comes
// from the CUDA driver as well, and the JSON object must stand alone. print() writes to the real standard
// output.
class JsonOutput {
public:
  JsonOutput();
  ~JsonOutput();
  JsonOutput(const JsonOutput&) = delete;
  JsonOutput& operator=(const JsonOutput&) = delete;

  // In ASCII: what is not is escaped, and bytes that are no UTF-8 become replacement characters.
  void print(const nlohmann::json& object);
  void print_line(const nlohmann::json& object); // one of several, without line breaks

private:
  void write_text(const std::string& text);

  int stdout_ = -1;
};

} // namespace lemma::cli
