// Runs every case on the GPU and on the CPU engine and holds both to the one expectation; where both engines promise the same bits, to each other.
//
//   cuda_cases [--only=TEXT|TEXT...] [--list] [--warps=4,1] [--threads=N] [--answers=FILE] [--save-answers=FILE] [--seconds=N] [--in-process] [--no-made-maps] FOLDER...
//
// One line for each case that fails, a line of counts, exit code 1 if one failed and 77 where there is no GPU or no NVRTC. FOLDERs hold case files; recipes
// are computed by tests/oracle.py, or taken from --answers, which an earlier run wrote with --save-answers.
//
// All texts are compiled first, many to a program, on all cores. Then a child process runs case after case and reports each over a pipe: one that hangs
// longer than --seconds, or leaves the context broken, costs that child, and the next one goes on behind it. --in-process is for compute-sanitizer. --no-made-maps: kernels make
// no tensor maps of arrays that they find in memory (gpu/compile/generate.h: Promises::made).
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "gpu/device/headers.h"
#include "gpu/driver/api.h"
#include "gpu/launch/arguments.h"
#include "gpu/nvrtc/nvrtc.h"
#include "isa/status.h"
#include "tests/cuda/cases.h"
#include "tests/float_format.h"
#include "tests/launch.h"
#include "tests/oracle.h"
#include "vm/interp/interp.h"

namespace tilevm::tests {
namespace {

constexpr uint32_t kProgramStride = 3;  // of kernels that have one: whatever it is, each program is run once

constexpr size_t kKernelsPerProgram = 40;
constexpr int64_t kGuardBytes = 256, kRecordBytes = 1 << 16;
constexpr uint8_t kGuard = 0xa5, kFill = 0xff;
constexpr int64_t kFuel = 200'000'000;

struct Options {
  std::vector<std::string> folders;
  std::string only, answers, save_answers;
  std::vector<int> warps = {4};
  int threads = 0, seconds = 20;
  bool list = false, in_process = false, made_maps = true;
};

bool ParseOptions(int argc, char** argv, Options* options) {
  for (int i = 1; i < argc; ++i) {
    absl::string_view arg = argv[i];
    if (arg == "--list") {
      options->list = true;
    } else if (arg == "--no-made-maps") {
      options->made_maps = false;
    } else if (arg == "--in-process") {
      options->in_process = true;
    } else if (absl::ConsumePrefix(&arg, "--only=")) {
      options->only = std::string(arg);
    } else if (absl::ConsumePrefix(&arg, "--answers=")) {
      options->answers = std::string(arg);
    } else if (absl::ConsumePrefix(&arg, "--save-answers=")) {
      options->save_answers = std::string(arg);
    } else if (absl::ConsumePrefix(&arg, "--threads=")) {
      if (!absl::SimpleAtoi(arg, &options->threads)) return false;
    } else if (absl::ConsumePrefix(&arg, "--seconds=")) {
      if (!absl::SimpleAtoi(arg, &options->seconds)) return false;
    } else if (absl::ConsumePrefix(&arg, "--warps=")) {
      options->warps.clear();
      for (absl::string_view part : absl::StrSplit(arg, ',')) {
        options->warps.push_back(0);
        if (!absl::SimpleAtoi(part, &options->warps.back())) return false;
      }
    } else if (absl::StartsWith(arg, "--")) {
      return false;
    } else {
      options->folders.emplace_back(arg);
    }
  }
  return !options->folders.empty();
}

double Seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

struct Job {
  const Case* one = nullptr;
  std::string name;
  ir::Kernel kernel;
  gpu::Emitted emitted;
  std::vector<std::string> static_prints;
  size_t program = 0;       // which cubin, and which kernel of it
  std::string entry;
};

// Why a case is not run here; "" if it is.
std::string NotRun(const Case& one) {
  if (!one.pending.empty()) return "pending";
  for (const ExpectedReport& report : one.reports) {
    if (!report.note && report.kind != "assert") return "wrong on purpose (a report of checked mode)";
  }
  if (!one.errors.empty() && !absl::StrContains(one.errors[0].message, "device_assert failed")) return "ends in an error of the CPU engine";
  if (one.poison_masked) return "a mode of the CPU engine";
  return "";
}

// --- the child: runs jobs on the GPU ---

class Device {
 public:
  absl::Status Open() {
    TILEVM_ASSIGN_OR_RETURN(api_, gpu::LoadDriver());
    gpu::CuDevice device = 0;
    gpu::CuContext context = nullptr;
    TILEVM_DRIVER_CALL(*api_, DeviceGet, &device, 0);
    TILEVM_DRIVER_CALL(*api_, DevicePrimaryCtxRetain, &context, device);
    TILEVM_DRIVER_CALL(*api_, CtxSetCurrent, context);
    return absl::OkStatus();
  }

  absl::StatusOr<gpu::CuFunction> Function(size_t program, const std::string& cubin, const std::string& entry) {
    auto found = modules_.find(program);
    if (found == modules_.end()) {
      gpu::CuModule module = nullptr;
      TILEVM_DRIVER_CALL(*api_, ModuleLoadData, &module, cubin.data());
      found = modules_.emplace(program, module).first;
    }
    gpu::CuFunction function = nullptr;
    TILEVM_DRIVER_CALL(*api_, ModuleGetFunction, &function, found->second, entry.c_str());
    return function;
  }

  // Address of `bytes` bytes; the same block for every case, which grows.
  absl::StatusOr<gpu::CuDevicePtr> Arena(int64_t bytes) {
    if (bytes <= arena_bytes_) return arena_;
    if (arena_ != 0) TILEVM_DRIVER_CALL(*api_, MemFree, arena_);
    arena_ = 0;
    TILEVM_DRIVER_CALL(*api_, MemAlloc, &arena_, static_cast<size_t>(bytes));
    arena_bytes_ = bytes;
    return arena_;
  }
  const gpu::Api& api() const { return *api_; }

 private:
  const gpu::Api* api_ = nullptr;
  std::map<size_t, gpu::CuModule> modules_;
  gpu::CuDevicePtr arena_ = 0;
  int64_t arena_bytes_ = 0;
};

// Device memory of one launch as it lies: guard, buffer, guard, buffer, ..., the record buffer last.
struct Image {
  std::vector<uint8_t> bytes;
  std::vector<int64_t> offsets;  // of the buffers
  int64_t records = 0;
};
int64_t Align(int64_t n) { return (n + 255) / 256 * 256; }

Image ImageOf(const std::vector<vm::Buffer>& buffers) {
  Image image;
  int64_t at = kGuardBytes;
  for (const vm::Buffer& buffer : buffers) {
    image.offsets.push_back(at);
    at = Align(at + buffer.bytes) + kGuardBytes;
  }
  image.records = at;
  image.bytes.assign(static_cast<size_t>(at + kRecordBytes), kGuard);
  for (size_t i = 0; i < buffers.size(); ++i) std::memcpy(image.bytes.data() + image.offsets[i], buffers[i].data, static_cast<size_t>(buffers[i].bytes));
  const std::vector<uint8_t> head = gpu::RecordHead(kRecordBytes);
  std::memcpy(image.bytes.data() + at, head.data(), head.size());
  return image;
}

std::string GuardsOf(const Image& image, const std::vector<vm::Buffer>& buffers) {
  int64_t at = 0;
  for (size_t i = 0; i <= buffers.size(); ++i) {
    const int64_t end = i < buffers.size() ? image.offsets[i] : image.records;
    for (; at < end; ++at) {
      if (image.bytes[static_cast<size_t>(at)] == kGuard) continue;
      return absl::StrCat("  byte ", i == 0 ? at - end : at - image.offsets[i - 1], " of ", i == 0 ? buffers[0].name : buffers[i - 1].name, ", outside of it, was written\n");
    }
    if (i < buffers.size()) at = end + buffers[i].bytes;
  }
  return "";
}

// The CPU engine's memory after the run against the GPU's: "" if each element has the same bits or both are NaN.
std::string CompareBits(const std::vector<vm::Buffer>& cpu, const std::vector<vm::Buffer>& device) {
  for (size_t i = 0; i < cpu.size(); ++i) {
    const int size = isa::StorageBytes(cpu[i].dtype);
    for (int64_t at = 0; at + size <= cpu[i].bytes; at += size) {
      uint64_t a = 0, b = 0;
      std::memcpy(&a, static_cast<const uint8_t*>(cpu[i].data) + at, static_cast<size_t>(size));
      std::memcpy(&b, static_cast<const uint8_t*>(device[i].data) + at, static_cast<size_t>(size));
      if (a == b || (isa::IsFloat(cpu[i].dtype) && IsNanBits(cpu[i].dtype, a) && IsNanBits(cpu[i].dtype, b))) continue;
      return absl::StrCat("  the engines differ: ", cpu[i].name, "[", at / size, "] is 0x", absl::Hex(a), " on the CPU, 0x", absl::Hex(b), " on the GPU\n");
    }
  }
  return "";
}

std::string CheckRecords(const Job& job, const Image& image) {
  const Case& one = *job.one;
  absl::StatusOr<gpu::RecordedOutput> output =
      gpu::ReadRecords(absl::MakeConstSpan(image.bytes).subspan(static_cast<size_t>(image.records)), job.emitted.records);
  if (!output.ok()) return absl::StrCat("  records: ", output.status().message(), "\n");
  std::string problem;
  std::vector<std::string> prints = job.static_prints;
  for (const gpu::RecordedPrint& print : output->prints) prints.emplace_back(absl::StripSuffix(print.line, "\n"));
  if (one.check_prints && prints != one.prints) absl::StrAppend(&problem, "  prints differ: ", absl::StrJoin(prints, " | "), "\n");
  const bool want = !one.errors.empty();
  if (want == output->asserts.empty()) return absl::StrCat(problem, want ? "  no assert failed\n" : absl::StrCat("  ", output->asserts[0].message, "\n"));
  if (want) {
    const gpu::RecordedAssert& first = output->asserts[0];
    if (first.message != one.errors[0].message || first.loc.line - one.prelude_lines != one.errors[0].line) {
      absl::StrAppend(&problem, "  another assert: ", first.loc.line - one.prelude_lines, " ", first.message, "\n");
    }
  }
  return problem;
}

absl::StatusOr<std::string> RunOnDevice(Device& device, const Job& job, const std::string& cubin) {
  const gpu::Api& api = device.api();
  const Case& one = *job.one;
  Memory memory(one, kFill);
  const std::vector<vm::Buffer> buffers = memory.Buffers();
  Image image = ImageOf(buffers);
  TILEVM_ASSIGN_OR_RETURN(gpu::CuFunction function, device.Function(job.program, cubin, job.entry));
  TILEVM_ASSIGN_OR_RETURN(const gpu::CuDevicePtr base, device.Arena(static_cast<int64_t>(image.bytes.size())));
  TILEVM_DRIVER_CALL(api, MemcpyHtoD, base, image.bytes.data(), image.bytes.size());
  if (job.emitted.smem_bytes > 48 * 1024) {
    TILEVM_DRIVER_CALL(api, FuncSetAttribute, function, gpu::kFuncAttributeMaxDynamicSmem, static_cast<int>(job.emitted.smem_bytes));
  }
  TILEVM_ASSIGN_OR_RETURN(const std::vector<vm::Arg> args, ArgsOf(one, job.kernel));
  std::vector<uint64_t> values;
  for (const vm::Arg& arg : args) {
    values.push_back(arg.kind == vm::Arg::Kind::kBuffer ? base + static_cast<uint64_t>(image.offsets[static_cast<size_t>(arg.buffer)] + arg.byte_offset) : arg.bits);
  }
  if (one.grid[0] != 0 && one.grid[1] != 0 && one.grid[2] != 0) {
    const std::array<int64_t, 3> grid = {one.grid[0], one.grid[1], one.grid[2]};
    const launch::SliceValues slice = gpu::EvaluateSlice(job.emitted, job.kernel, values, grid, gpu::RangesOf(job.kernel, values, grid));
    if (!slice.failed.empty()) return absl::InternalError(absl::StrCat("a check of the launch slice fails: ", slice.failed));
    gpu::LaunchArguments arguments;
    TILEVM_RETURN_IF_ERROR(arguments.Set(api, job.emitted, values, slice, grid, base + static_cast<uint64_t>(image.records), 0, kProgramStride));
    TILEVM_ASSIGN_OR_RETURN(const int64_t at_once, gpu::BlocksAtOnce(api, function, job.emitted));
    const std::array<int64_t, 3> blocks = gpu::LaunchedGrid(job.emitted, grid, at_once);
    TILEVM_DRIVER_CALL(api, LaunchKernel, function, static_cast<unsigned>(blocks[0]), static_cast<unsigned>(blocks[1]), static_cast<unsigned>(blocks[2]),
                       static_cast<unsigned>(job.emitted.threads), 1, 1, static_cast<unsigned>(job.emitted.smem_bytes), nullptr, arguments.pointers(), nullptr);
  }
  TILEVM_DRIVER_CALL(api, CtxSynchronize);
  TILEVM_DRIVER_CALL(api, MemcpyDtoH, image.bytes.data(), base, image.bytes.size());
  for (size_t i = 0; i < buffers.size(); ++i) std::memcpy(buffers[i].data, image.bytes.data() + image.offsets[i], static_cast<size_t>(buffers[i].bytes));

  std::string problem = buffers.empty() ? "" : GuardsOf(image, buffers);
  absl::StrAppend(&problem, CheckRecords(job, image));
  if (!one.errors.empty()) return problem;  // what was stored before the assert failed is nobody's business
  absl::StrAppend(&problem, memory.Differences());
  if (HasSameBits(job.kernel)) {
    Memory other(one, kFill);
    std::vector<vm::Buffer> cpu = other.Buffers();
    vm::RunOptions run;
    for (int axis = 0; axis < 3; ++axis) run.grid[axis] = one.grid[axis];
    run.max_ops = one.fuel > 0 ? one.fuel : kFuel;
    run.print = [](absl::string_view) {};
    TILEVM_RETURN_IF_ERROR(vm::Run(job.kernel, args, cpu, run).status());
    absl::StrAppend(&problem, CompareBits(cpu, buffers));
  }
  return problem;
}

// One line on the pipe for each job: "NUMBER TEXT", newlines as tabs; an empty TEXT is a success, one that begins with '!' ends the child.
void RunJobs(const std::vector<Job>& jobs, const std::vector<std::string>& cubins, size_t first, int pipe) {
  Device device;
  const absl::Status opened = device.Open();
  for (size_t i = first; i < jobs.size(); ++i) {
    absl::StatusOr<std::string> problem = opened.ok() ? RunOnDevice(device, jobs[i], cubins[jobs[i].program]) : opened;
    std::string line = absl::StrCat(i, " ", problem.ok() ? *problem : absl::StrCat("!", problem.status().message()));
    line = absl::StrCat(absl::StrReplaceAll(line, {{"\n", "\t"}}), "\n");
    for (size_t at = 0; at < line.size();) {
      const ssize_t written = write(pipe, line.data() + at, line.size() - at);
      if (written <= 0) return;
      at += static_cast<size_t>(written);
    }
    if (!problem.ok()) return;
  }
}

// --- the parent ---

class Runner {
 public:
  explicit Runner(const Options& options) : options_(options) {}

  int Main() {
    absl::StatusOr<std::vector<Case>> cases = ReadFolders(options_.folders);
    if (!cases.ok()) return Stop(cases.status(), 1);
    std::vector<std::string> problems;
    if (absl::Status status = FillIn(*cases, problems); !status.ok()) return Stop(status, 1);
    if (!options_.save_answers.empty()) return 0;
    if (options_.list) {
      for (const Case& one : *cases) std::printf("%s\n", one.name.c_str());
      return 0;
    }
    absl::StatusOr<std::string> arch = Arch();
    if (!arch.ok()) return Stop(arch.status(), 77);
    double start = Seconds();
    if (absl::Status status = Generate(*cases, problems, *arch); !status.ok()) return Stop(status, 1);
    if (absl::Status status = Compile(*arch); !status.ok()) return Stop(status, status.code() == absl::StatusCode::kFailedPrecondition ? 77 : 1);
    std::printf("compiled %zu texts for %s in %.1f s\n", text_count_, arch->c_str(), Seconds() - start);
    start = Seconds();
    if (options_.in_process) {
      RunInProcess();
    } else {
      RunInChildren();
    }
    std::printf("ran %zu cases in %.1f s\n", jobs_.size(), Seconds() - start);
    for (const auto& [reason, count] : not_run_) std::printf("  %4d not run: %s\n", count, reason.c_str());
    std::printf("%zu ran, %d failed\n", jobs_.size(), failures_);
    return failures_ == 0 ? 0 : 1;
  }

 private:
  static int Stop(const absl::Status& status, int code) {
    std::printf("%s%s\n", code == 77 ? "skipped: " : "", std::string(status.message()).c_str());
    return code;
  }
  void Fail(const std::string& name, absl::string_view text) {
    std::printf("FAILED %s: %s\n", name.c_str(), absl::StrReplaceAll(text, {{"\t", "\n"}}).c_str());
    std::fflush(stdout);
    ++failures_;
  }

  absl::Status FillIn(std::vector<Case>& cases, std::vector<std::string>& problems) {
    if (!options_.answers.empty()) return ReadOracle(options_.answers, cases, problems);
    char scratch[] = "/tmp/tilevm_cases_XXXXXX";
    const std::string folder = mkdtemp(scratch);
    const std::string script = std::filesystem::path(options_.folders[0]).parent_path() / "oracle.py";
    const absl::Status status = AskOracle(script, folder, cases, problems);
    std::error_code error;
    if (status.ok() && !options_.save_answers.empty()) std::filesystem::copy_file(folder + "/oracle.answer", options_.save_answers, std::filesystem::copy_options::overwrite_existing, error);
    std::filesystem::remove_all(folder);
    if (error) return absl::InternalError(absl::StrCat(options_.save_answers, ": ", error.message()));
    return status;
  }

  // By a child: a process that has spoken to the driver cannot fork ones that do.
  absl::StatusOr<std::string> Arch() {
    int ends[2];
    if (pipe(ends) != 0) return absl::InternalError("pipe");
    const pid_t child = fork();
    if (child == 0) {
      std::string line;
      absl::StatusOr<const gpu::Api*> api = gpu::LoadDriver();
      if (!api.ok()) {
        line = absl::StrCat("!", api.status().message());
      } else {
        int major = 0, minor = 0;
        char name[200] = "";
        (*api)->DeviceGetAttribute(&major, gpu::kAttributeComputeCapabilityMajor, 0);
        (*api)->DeviceGetAttribute(&minor, gpu::kAttributeComputeCapabilityMinor, 0);
        (*api)->DeviceGetName(name, sizeof(name), 0);
        absl::StatusOr<gpu::Target> target = gpu::TargetOfCapability(major, minor);
        line = target.ok() ? target->arch : absl::StrCat("!", target.status().message());
        std::printf("%s, driver %d\n", name, (*api)->version);
        std::fflush(stdout);
      }
      const ssize_t written = write(ends[1], line.data(), line.size());
      _exit(written < 0);
    }
    close(ends[1]);
    std::string line;
    char buffer[512];
    for (ssize_t n = read(ends[0], buffer, sizeof(buffer)); n > 0; n = read(ends[0], buffer, sizeof(buffer))) line.append(buffer, static_cast<size_t>(n));
    close(ends[0]);
    waitpid(child, nullptr, 0);
    if (line.empty()) return absl::FailedPreconditionError("the driver cannot be asked");
    if (line[0] == '!') return absl::FailedPreconditionError(line.substr(1));
    return line;
  }

  // By --only: the name has one of its parts.
  bool Wanted(const std::string& name) const {
    for (absl::string_view part : absl::StrSplit(options_.only, '|')) {
      if (absl::StrContains(name, part)) return true;
    }
    return false;
  }

  absl::Status Generate(const std::vector<Case>& cases, const std::vector<std::string>& problems, const std::string& arch) {
    TILEVM_ASSIGN_OR_RETURN(const gpu::Target target, gpu::TargetOf(arch));
    for (int warps : options_.warps) {
      for (size_t i = 0; i < cases.size(); ++i) {
        const Case& one = cases[i];
        if (!Wanted(one.name)) continue;
        Job job;
        job.one = &one;
        job.name = warps == 4 ? one.name : absl::StrCat(one.name, " (", warps, " warps)");
        std::string reason = problems[i].empty() ? NotRun(one) : problems[i];
        absl::StatusOr<ir::Kernel> kernel = KernelOf(one, warps, &job.static_prints);
        if (!kernel.ok() && !one.errors.empty()) reason = "does not reach the engines";
        if (!reason.empty()) {
          ++not_run_[reason];
          continue;
        }
        if (!kernel.ok()) {
          Fail(job.name, kernel.status().message());
          continue;
        }
        job.kernel = *std::move(kernel);
        absl::StatusOr<gpu::Emitted> emitted = EmittedOf(one, job.kernel, target, options_.made_maps);
        if (!emitted.ok()) {
          Fail(job.name, emitted.status().message());
          continue;
        }
        job.emitted = *std::move(emitted);
        jobs_.push_back(std::move(job));
      }
    }
    return absl::OkStatus();
  }

  absl::Status Compile(const std::string& arch) {
    std::map<std::string, size_t> known;  // text -> number
    std::vector<const gpu::Emitted*> texts;
    std::vector<size_t> text_of;
    for (const Job& job : jobs_) {
      const auto [found, fresh] = known.emplace(job.emitted.text, texts.size());
      if (fresh) texts.push_back(&job.emitted);
      text_of.push_back(found->second);
    }
    text_count_ = texts.size();
    const std::vector<std::vector<size_t>> programs = ProgramsOf(texts, kKernelsPerProgram);
    std::vector<size_t> program_of(texts.size());
    for (size_t p = 0; p < programs.size(); ++p) {
      for (size_t t : programs[p]) program_of[t] = p;
    }
    for (size_t i = 0; i < jobs_.size(); ++i) {
      jobs_[i].program = program_of[text_of[i]];
      jobs_[i].entry = absl::StrCat("kernel_", text_of[i]);
    }
    // By a child: NVRTC may speak to the driver, and the children that run the cases are forked from here. The cubins come back in files.
    char scratch[] = "/tmp/tilevm_cubins_XXXXXX";
    const std::string folder = mkdtemp(scratch);
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) _exit(CompilePrograms(arch, texts, programs, folder));
    int exit_status = 0;
    waitpid(child, &exit_status, 0);
    absl::Status status;
    if (exit_status != 0) status = absl::InternalError("the compiling process failed");
    for (size_t p = 0; p < programs.size() && status.ok(); ++p) {
      cubins_.push_back(ReadText(absl::StrCat(folder, "/", p)));
      // A letter for the code of the status, then the cubin or the message.
      const int code = cubins_[p].empty() ? static_cast<int>(absl::StatusCode::kInternal) : cubins_[p][0] - 'a';
      cubins_[p].erase(0, 1);
      if (code != 0) status = absl::Status(static_cast<absl::StatusCode>(code), cubins_[p].substr(0, 4000));
    }
    std::filesystem::remove_all(folder);
    return status;
  }

  int CompilePrograms(const std::string& arch, const std::vector<const gpu::Emitted*>& texts, const std::vector<std::vector<size_t>>& programs,
                      const std::string& folder) const {
    absl::StatusOr<std::shared_ptr<const gpu::Nvrtc>> nvrtc = gpu::Nvrtc::Load();
    std::atomic<size_t> next{0};
    auto work = [&] {
      for (size_t p = next++; p < programs.size(); p = next++) {
        gpu::CompileRequest request;
        request.source = ProgramHead(*texts[programs[p][0]]);
        for (size_t t : programs[p]) absl::StrAppend(&request.source, InNamespace(*texts[t], absl::StrCat("kernel_", t)));
        request.headers = gpu::DeviceHeaderTexts();
        request.arch = arch;
        absl::StatusOr<gpu::CompileResult> result = nvrtc.ok() ? (*nvrtc)->Compile(request) : nvrtc.status();
        std::ofstream file(absl::StrCat(folder, "/", p), std::ios::binary);
        file << static_cast<char>('a' + static_cast<int>(result.status().code())) << (result.ok() ? result->cubin : std::string(result.status().message()));
      }
    };
    const int count = options_.threads > 0 ? options_.threads : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i) threads.emplace_back(work);
    for (std::thread& thread : threads) thread.join();
    return 0;
  }

  static std::string ReadText(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }

  void RunInProcess() {
    Device device;
    if (absl::Status status = device.Open(); !status.ok()) return Fail("device", status.message());
    for (const Job& job : jobs_) {
      absl::StatusOr<std::string> problem = RunOnDevice(device, job, cubins_[job.program]);
      if (!problem.ok()) return Fail(job.name, problem.status().message());
      if (!problem->empty()) Fail(job.name, *problem);
    }
  }

  void RunInChildren() {
    size_t next = 0;
    while (next < jobs_.size()) {
      int ends[2];
      if (pipe(ends) != 0) return Fail("runner", "pipe");
      std::fflush(stdout);
      const pid_t child = fork();
      if (child == 0) {
        close(ends[0]);
        RunJobs(jobs_, cubins_, next, ends[1]);
        _exit(0);
      }
      close(ends[1]);
      next = Listen(ends[0], child, next);
      close(ends[0]);
    }
  }

  // Takes the lines of a child; returns the number of the first job that nobody has run.
  size_t Listen(int pipe, pid_t child, size_t next) {
    std::string text;
    bool ended = false;
    while (!ended && next < jobs_.size()) {
      pollfd waiting = {pipe, POLLIN, 0};
      // The first report of a child has the context and the module in it.
      const int ready = poll(&waiting, 1, options_.seconds * 1000);
      if (ready == 0) {
        Fail(jobs_[next++].name, absl::StrCat("did not end within ", options_.seconds, " s"));
        break;
      }
      char buffer[4096];
      const ssize_t n = read(pipe, buffer, sizeof(buffer));
      if (n <= 0) {
        Fail(jobs_[next++].name, "the process ended");
        break;
      }
      text.append(buffer, static_cast<size_t>(n));
      for (size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
        const std::string line = text.substr(0, end);
        text.erase(0, end + 1);
        const size_t blank = line.find(' ');
        const std::string problem = line.substr(blank + 1);
        if (!problem.empty()) Fail(jobs_[next].name, problem);
        ++next;
        ended = !problem.empty() && problem[0] == '!';
      }
    }
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    return next;
  }

  const Options& options_;
  std::vector<Job> jobs_;
  std::vector<std::string> cubins_;
  std::map<std::string, int> not_run_;
  size_t text_count_ = 0;
  int failures_ = 0;
};

}  // namespace
}  // namespace tilevm::tests

int main(int argc, char** argv) {
  tilevm::tests::Options options;
  if (!tilevm::tests::ParseOptions(argc, argv, &options)) {
    std::printf("cuda_cases [--only=TEXT] [--list] [--warps=4,1] [--threads=N] [--answers=FILE] [--save-answers=FILE] [--seconds=N] [--in-process] [--no-made-maps] FOLDER...\n");
    return 2;
  }
  return tilevm::tests::Runner(options).Main();
}
