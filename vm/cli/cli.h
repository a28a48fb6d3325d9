// The verbs of the tilevm program. Each adds itself to the CLI11 application and leaves its exit code in `*exit_code` when it ran.
//
// Exit codes (docs/cli.md): 0 done; 1 the program, a file or the machine failed, said on stderr; 2 the command line is wrong; 3 --check found
// something.
#ifndef TILEVM_VM_CLI_CLI_H_
#define TILEVM_VM_CLI_CLI_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "isa/status.h"

namespace CLI {
class App;
}

namespace tilevm::vm::cli {

enum ExitCode { kOk = 0, kFailed = 1, kUsage = 2, kReported = 3 };

inline constexpr absl::string_view kVersion = "0.1.0";

void AddRun(CLI::App& app, int* exit_code);        // run
void AddTune(CLI::App& app, int* exit_code);       // tune
void AddConversions(CLI::App& app, int* exit_code);  // compile, as, dis
void AddInfo(CLI::App& app, int* exit_code);       // info, verify
void AddInspect(CLI::App& app, int* exit_code);    // inspect
void AddDevices(CLI::App& app, int* exit_code);    // devices
void AddCache(CLI::App& app, int* exit_code);      // cache

// For CLI11: the value of an option that names a file.
inline std::string HasName(const std::string& text) { return text.empty() || text.back() == '=' ? "the name of a file is missing" : ""; }

// Prints the status on stderr, with source line and caret where it has a place, and gives kFailed.
int Fail(const absl::Status& status, const std::vector<SourceFile>& files = {});
// "512M", "2G", "1048576"; -1 if it is no size.
int64_t Bytes(absl::string_view text);

// A wrong command line: kUsage.
int Misuse(absl::string_view message);

}  // namespace tilevm::vm::cli

#endif  // TILEVM_VM_CLI_CLI_H_
