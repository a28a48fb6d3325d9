// The tilevm program: parses the command line and hands over to the verbs in vm/cli.
#include <cstdio>
#include <exception>

#include <CLI/CLI.hpp>

#include "absl/strings/str_cat.h"
#include "vm/cli/cli.h"

namespace tilevm::vm::cli {

int Fail(const absl::Status& status, const std::vector<SourceFile>& files) {
  std::fflush(stdout);
  std::fprintf(stderr, "%s", FormatDiagnostic(status, files).c_str());
  return kFailed;
}

int Misuse(absl::string_view message) {
  std::fflush(stdout);
  std::fprintf(stderr, "tilevm: %.*s\n", static_cast<int>(message.size()), message.data());
  return kUsage;
}

}  // namespace tilevm::vm::cli

int main(int argc, char** argv) {
  using namespace tilevm::vm::cli;
  CLI::App app("tilevm runs kernels written in the Triton language, on the CPU or a GPU, without Python.\n"
               "Exit codes: 0 done, 1 the program or a file failed, 2 the command line is wrong, 3 --check found something.",
               "tilevm");
  app.set_version_flag("--version", std::string("tilevm ") + std::string(kVersion));
  app.require_subcommand(1);
  app.footer("tilevm VERB --help tells more, with an example.");
  int exit_code = kOk;
  AddRun(app, &exit_code);
  AddTune(app, &exit_code);
  AddConversions(app, &exit_code);
  AddInfo(app, &exit_code);
  AddInspect(app, &exit_code);
  AddDevices(app, &exit_code);
  AddCache(app, &exit_code);
  if (argc > 1 && argv[1][0] != '-' && app.get_subcommands([&](CLI::App* verb) { return verb->get_name() == argv[1]; }).empty()) {
    return Misuse(absl::StrCat("there is no verb '", argv[1], "'; tilevm --help lists them"));
  }
  // CLI11 reports a wrong command line by an exception.
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kOk : kUsage;
  } catch (const std::exception& error) {  // out of memory
    std::fprintf(stderr, "tilevm: %s\n", error.what());
    return kFailed;
  }
  // Output that did not arrive (a full disk behind a redirection) is a failure too.
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    std::fprintf(stderr, "tilevm: standard output cannot be written\n");
    return exit_code == kOk ? kFailed : exit_code;
  }
  return exit_code;
}
