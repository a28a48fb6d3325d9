// Makes the CUDA text of every case and compiles it: no GPU needed.
//
//   cuda_compile [--arch=sm_90a,...] [--sample=N] [--warps=N] [--threads=N] [--show=CASE] FOLDER...
//
// Each case that reaches the engines has to give text, and the text has to compile for each architecture: several kernels to one NVRTC program, equal
// texts once. `--sample=N` compiles only every Nth distinct text. Ends with a line of counts; exit code 1 if a case fails, 77 where there is no NVRTC.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "gpu/device/headers.h"
#include "gpu/nvrtc/nvrtc.h"
#include "isa/status.h"
#include "tests/cuda/cases.h"

namespace tilevm::tests {
namespace {

constexpr size_t kKernelsPerProgram = 40;  // NVRTC's fixed cost is 20 ms and our headers; too many kernels in one program hold up the last thread

struct Options {
  std::vector<std::string> archs = {"sm_90a"};
  std::vector<std::string> folders;
  size_t sample = 1;
  int warps = 4;
  int threads = 0;
  std::string show;
};

bool ParseOptions(int argc, char** argv, Options* options) {
  for (int i = 1; i < argc; ++i) {
    absl::string_view arg = argv[i];
    if (absl::ConsumePrefix(&arg, "--arch=")) {
      options->archs = absl::StrSplit(arg, ',');
    } else if (absl::ConsumePrefix(&arg, "--sample=")) {
      if (!absl::SimpleAtoi(arg, &options->sample) || options->sample == 0) return false;
    } else if (absl::ConsumePrefix(&arg, "--warps=")) {
      if (!absl::SimpleAtoi(arg, &options->warps)) return false;
    } else if (absl::ConsumePrefix(&arg, "--threads=")) {
      if (!absl::SimpleAtoi(arg, &options->threads)) return false;
    } else if (absl::ConsumePrefix(&arg, "--show=")) {
      options->show = std::string(arg);
    } else if (absl::StartsWith(arg, "--")) {
      return false;
    } else {
      options->folders.emplace_back(arg);
    }
  }
  return !options->folders.empty();
}

struct Text {
  gpu::Emitted emitted;
  std::string example;  // the first case that gives it
};

double Seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

class Run {
 public:
  explicit Run(const Options& options) : options_(options) {}

  int Main() {
    absl::StatusOr<std::vector<Case>> cases = ReadFolders(options_.folders);
    if (!cases.ok()) {
      std::printf("%s\n", std::string(cases.status().message()).c_str());
      return 1;
    }
    const double start = Seconds();
    std::vector<Text> texts;
    for (const std::string& arch : options_.archs) {
      if (!Generate(*cases, arch)) return 1;
    }
    std::printf("generated in %.1f s\n", Seconds() - start);
    if (!options_.show.empty()) return 0;
    auto nvrtc = gpu::Nvrtc::Load();
    if (!nvrtc.ok()) {
      std::printf("skipped: %s\n", std::string(nvrtc.status().message()).c_str());
      return failures_ == 0 ? 77 : 1;
    }
    const double compile_start = Seconds();
    size_t count = 0;
    for (const std::string& arch : options_.archs) count += Compile(**nvrtc, arch);
    std::printf("compiled %zu texts in %.1f s\n", count, Seconds() - compile_start);
    std::printf("%d failed\n", failures_.load());
    return failures_ == 0 ? 0 : 1;
  }

 private:
  void Fail(const std::string& text) {
    std::lock_guard<std::mutex> lock(mutex_);
    std::printf("FAILED %s\n", text.c_str());
    ++failures_;
  }

  bool Generate(const std::vector<Case>& cases, const std::string& arch) {
    absl::StatusOr<gpu::Target> target = gpu::TargetOf(arch);
    if (!target.ok()) {
      std::printf("%s\n", std::string(target.status().message()).c_str());
      return false;
    }
    size_t made = 0, ended = 0;
    std::map<std::string, int> reasons;
    std::map<std::string, size_t> known;
    std::vector<Text>& texts = texts_[arch];
    for (const Case& one : cases) {
      if (!options_.show.empty() && !absl::StrContains(one.name, options_.show)) continue;
      absl::StatusOr<ir::Kernel> kernel = KernelOf(one, options_.warps);
      if (!kernel.ok()) {
        ++ended;
        if (one.errors.empty() && one.pending.empty()) Fail(absl::StrCat(one.name, ": ", kernel.status().message()));
        continue;
      }
      gpu::GenerateOptions generate;
      generate.promises = PromisesOf(one, *kernel);
      generate.line_directives = false;
      if (!options_.show.empty()) {
        if (auto laid_out = gpu::LayOut(*kernel, *target, generate); laid_out.ok()) std::printf("%s\n", layout::Print(*laid_out).c_str());
      }
      absl::StatusOr<gpu::Emitted> emitted = gpu::Generate(*kernel, *target, generate);
      if (!emitted.ok()) {
        const std::string message(emitted.status().message());
        if (++reasons[message] == 1) Fail(absl::StrCat(one.name, ": ", message));
        else ++failures_;
        continue;
      }
      ++made;
      if (!options_.show.empty()) std::printf("// %s, %d bytes of shared memory\n%s\n", one.name.c_str(), static_cast<int>(emitted->smem_bytes), emitted->text.c_str());
      if (known.emplace(emitted->text, texts.size()).second) texts.push_back({*std::move(emitted), one.name});
    }
    std::printf("%s: %zu of %zu cases reach the engine and give %zu texts; %zu end before\n", arch.c_str(), made, cases.size() - ended, texts.size(), ended);
    for (const auto& [reason, count] : reasons) std::printf("  %4d  %s\n", count, reason.c_str());
    return true;
  }

  absl::Status CompileProgram(const gpu::Nvrtc& nvrtc, const std::string& arch, const std::vector<const Text*>& texts) {
    gpu::CompileRequest request;
    request.source = ProgramHead();
    for (size_t i = 0; i < texts.size(); ++i) absl::StrAppend(&request.source, InNamespace(texts[i]->emitted, absl::StrCat("kernel_", i)));
    request.headers = gpu::DeviceHeaderTexts();
    request.arch = arch;
    return nvrtc.Compile(request).status();
  }

  size_t Compile(const gpu::Nvrtc& nvrtc, const std::string& arch) {
    std::vector<const Text*> texts;
    for (size_t i = 0; i < texts_[arch].size(); i += options_.sample) texts.push_back(&texts_[arch][i]);
    const size_t programs = (texts.size() + kKernelsPerProgram - 1) / kKernelsPerProgram;
    std::atomic<size_t> next{0};
    auto work = [&] {
      for (size_t p = next++; p < programs; p = next++) {
        // Dealt out one by one: a folder's heavy cases lie side by side.
        std::vector<const Text*> batch;
        for (size_t i = p; i < texts.size(); i += programs) batch.push_back(texts[i]);
        if (CompileProgram(nvrtc, arch, batch).ok()) continue;
        for (const Text* text : batch) {  // which one?
          if (absl::Status status = CompileProgram(nvrtc, arch, {text}); !status.ok()) {
            Fail(absl::StrCat(arch, " ", text->example, ": ", status.message().substr(0, 1500)));
          }
        }
      }
    };
    const int count = options_.threads > 0 ? options_.threads : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i) threads.emplace_back(work);
    for (std::thread& thread : threads) thread.join();
    return texts.size();
  }

  const Options& options_;
  std::map<std::string, std::vector<Text>> texts_;
  std::mutex mutex_;
  std::atomic<int> failures_{0};
};

}  // namespace
}  // namespace tilevm::tests

int main(int argc, char** argv) {
  tilevm::tests::Options options;
  if (!tilevm::tests::ParseOptions(argc, argv, &options)) {
    std::printf("cuda_compile [--arch=sm_90a,...] [--sample=N] [--warps=N] [--threads=N] [--show=CASE] FOLDER...\n");
    return 2;
  }
  return tilevm::tests::Run(options).Main();
}
