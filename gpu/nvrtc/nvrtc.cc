#include "gpu/nvrtc/nvrtc.h"

#include <dlfcn.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"

namespace tilevm::gpu {
namespace {

using Program = struct NvrtcProgramOpaque*;
constexpr int kCompilationError = 6;  // NVRTC_ERROR_COMPILATION

// "Used 40 registers" and "12 bytes spill stores" in the log of ptxas.
int64_t NumberBefore(absl::string_view log, absl::string_view words) {
  int64_t most = 0;
  for (size_t at = log.find(words); at != absl::string_view::npos; at = log.find(words, at + 1)) {
    size_t end = at, begin = at;
    while (begin > 0 && log[begin - 1] >= '0' && log[begin - 1] <= '9') --begin;
    int64_t number = 0;
    if (absl::SimpleAtoi(log.substr(begin, end - begin), &number)) most = std::max(most, number);
  }
  return most;
}

// The number in "sm_90a"; -1 if it is no such name.
int ArchNumber(absl::string_view arch) {
  int number = -1;
  if (!absl::ConsumePrefix(&arch, "sm_")) return -1;
  if (!arch.empty() && (arch.back() == 'a' || arch.back() == 'f')) arch.remove_suffix(1);
  return absl::SimpleAtoi(arch, &number) ? number : -1;
}

}  // namespace

void ReadLog(CompileResult& result) {
  result.registers = static_cast<int>(NumberBefore(result.log, " registers"));
  result.spill_bytes = NumberBefore(result.log, " bytes spill stores");
  result.serialised = absl::StrContains(result.log, "instructions are serialized");
}

struct Nvrtc::Table {
  void* handle = nullptr;
  int (*Version)(int*, int*) = nullptr;
  const char* (*GetErrorString)(int) = nullptr;
  int (*GetNumSupportedArchs)(int*) = nullptr;
  int (*GetSupportedArchs)(int*) = nullptr;
  int (*CreateProgram)(Program*, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
  int (*DestroyProgram)(Program*) = nullptr;
  int (*CompileProgram)(Program, int, const char* const*) = nullptr;
  int (*GetCUBINSize)(Program, size_t*) = nullptr;
  int (*GetCUBIN)(Program, char*) = nullptr;
  int (*GetPTXSize)(Program, size_t*) = nullptr;
  int (*GetPTX)(Program, char*) = nullptr;
  int (*GetProgramLogSize)(Program, size_t*) = nullptr;
  int (*GetProgramLog)(Program, char*) = nullptr;

  template <typename Fn>
  bool Take(Fn& fn, const char* symbol) {
    fn = reinterpret_cast<Fn>(dlsym(handle, symbol));
    return fn != nullptr;
  }
  bool TakeAll() {
    return Take(Version, "nvrtcVersion") && Take(GetErrorString, "nvrtcGetErrorString") && Take(GetNumSupportedArchs, "nvrtcGetNumSupportedArchs") &&
           Take(GetSupportedArchs, "nvrtcGetSupportedArchs") && Take(CreateProgram, "nvrtcCreateProgram") &&
           Take(DestroyProgram, "nvrtcDestroyProgram") && Take(CompileProgram, "nvrtcCompileProgram") && Take(GetCUBINSize, "nvrtcGetCUBINSize") &&
           Take(GetCUBIN, "nvrtcGetCUBIN") && Take(GetPTXSize, "nvrtcGetPTXSize") && Take(GetPTX, "nvrtcGetPTX") &&
           Take(GetProgramLogSize, "nvrtcGetProgramLogSize") && Take(GetProgramLog, "nvrtcGetProgramLog");
  }
};

Nvrtc::~Nvrtc() = default;  // the library stays loaded: unloading it while another thread compiles is not safe

absl::StatusOr<std::shared_ptr<const Nvrtc>> Nvrtc::Load(absl::string_view library) {
  std::vector<std::string> names;
  if (!library.empty()) {
    names.push_back(std::string(library));
  } else {
    for (const char* folder : {"", "/usr/local/cuda/lib64/"}) {
      for (const char* release : {".13", ".12", ""}) names.push_back(absl::StrCat(folder, "libnvrtc.so", release));
    }
  }
  auto nvrtc = std::shared_ptr<Nvrtc>(new Nvrtc());
  nvrtc->table_ = std::make_unique<Table>();
  for (const std::string& name : names) {
    nvrtc->table_->handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (nvrtc->table_->handle != nullptr && nvrtc->table_->TakeAll()) break;
    nvrtc->table_->handle = nullptr;
  }
  if (nvrtc->table_->handle == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat("NVRTC is not installed: none of ", absl::StrJoin(names, ", "), " can be loaded"));
  }
  int major = 0, minor = 0, count = 0;
  if (nvrtc->table_->Version(&major, &minor) != 0) return absl::InternalError("nvrtcVersion failed");
  nvrtc->version_ = major * 1000 + minor * 10;
  if (nvrtc->table_->GetNumSupportedArchs(&count) == 0 && count > 0) {
    nvrtc->arch_numbers_.resize(count);
    if (nvrtc->table_->GetSupportedArchs(nvrtc->arch_numbers_.data()) != 0) nvrtc->arch_numbers_.clear();
  }
  return nvrtc;
}

std::vector<std::string> Nvrtc::Options(const CompileRequest& request) {
  // -fmad=false: contraction is a pass of ours, the same for both engines. No include path; C++17 is the newest that costs nothing.
  std::vector<std::string> options = {absl::StrCat("--gpu-architecture=", request.arch), "--std=c++17", "-fmad=false", "-default-device",
                                      "--minimal", "--ptxas-options=-v", "-restrict"};
  if (request.line_info) options.push_back("-lineinfo");
  if (!request.optimise) options.push_back("--ptxas-options=-O0");
  if (!request.own_cache) options.push_back("--no-cache");
  return options;
}

absl::StatusOr<CompileResult> Nvrtc::Compile(const CompileRequest& request) const {
  const int number = ArchNumber(request.arch);
  if (number < 0 || (!arch_numbers_.empty() && std::find(arch_numbers_.begin(), arch_numbers_.end(), number) == arch_numbers_.end())) {
    return absl::FailedPreconditionError(absl::StrCat("NVRTC ", version_ / 1000, ".", version_ % 1000 / 10, " does not compile for ", request.arch,
                                                      "; it knows ", absl::StrJoin(arch_numbers_, ", ", [](std::string* out, int n) {
                                                        absl::StrAppend(out, "sm_", n);
                                                      })));
  }
  std::vector<const char*> header_names, header_texts;
  for (const auto& [name, text] : request.headers) {
    header_names.push_back(name.c_str());
    header_texts.push_back(text.c_str());
  }
  Program program = nullptr;
  if (int result = table_->CreateProgram(&program, request.source.c_str(), request.name.c_str(), static_cast<int>(header_names.size()),
                                         header_texts.data(), header_names.data())) {
    return absl::InternalError(absl::StrCat("nvrtcCreateProgram: ", table_->GetErrorString(result)));
  }
  struct Guard {
    const Table& table;
    Program& program;
    ~Guard() { table.DestroyProgram(&program); }
  } guard{*table_, program};

  std::vector<std::string> options = Options(request);
  std::vector<const char*> option_texts;
  for (const std::string& option : options) option_texts.push_back(option.c_str());
  const int compiled = table_->CompileProgram(program, static_cast<int>(option_texts.size()), option_texts.data());

  CompileResult out;
  size_t size = 0;
  if (table_->GetProgramLogSize(program, &size) == 0 && size > 1) {
    out.log.resize(size);
    table_->GetProgramLog(program, out.log.data());
    out.log.resize(size - 1);
  }
  if (compiled != 0) {
    const std::string text = absl::StrCat("NVRTC: ", table_->GetErrorString(compiled), "\n", out.log);
    return compiled == kCompilationError ? absl::InvalidArgumentError(text) : absl::InternalError(text);
  }
  if (int result = table_->GetCUBINSize(program, &size); result != 0 || size == 0) {
    return absl::InternalError(absl::StrCat("nvrtcGetCUBINSize: ", table_->GetErrorString(result)));
  }
  out.cubin.resize(size);
  if (int result = table_->GetCUBIN(program, out.cubin.data())) {
    return absl::InternalError(absl::StrCat("nvrtcGetCUBIN: ", table_->GetErrorString(result)));
  }
  if (request.want_ptx && table_->GetPTXSize(program, &size) == 0 && size > 1) {
    out.ptx.resize(size);
    table_->GetPTX(program, out.ptx.data());
    out.ptx.resize(size - 1);
  }
  ReadLog(out);
  return out;
}

}  // namespace tilevm::gpu
