// Reads and writes the container; see tbc_container.h.
#include "isa/tbc_container.h"

#include <xxhash.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "isa/tbc_bytes.h"

namespace tilevm::isa {
namespace {

constexpr size_t kHeaderChecksumOffset = 32;
constexpr size_t kDirectoryChecksumOffset = 24;

uint64_t Checksum(absl::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

bool IsKnown(uint32_t id) { return SectionName(id).substr(0, 8) != "section "; }

absl::Status CheckMagic(absl::string_view bytes) {
  absl::string_view magic(reinterpret_cast<const char*>(kTbcMagic), sizeof(kTbcMagic));
  if (bytes.substr(0, magic.size()) == magic) return absl::OkStatus();
  for (size_t i = 0; i < magic.size(); ++i) {
    if (i >= bytes.size()) return DamagedAt(i, "the file ends inside its header");
    if (bytes[i] == magic[i]) continue;
    if (i >= 4) return DamagedAt(i, "its line ends were translated: it was copied as text");
    return DamagedAt(i, "not a .tbc file");
  }
  return absl::OkStatus();
}

absl::Status CheckSection(const ContainerSection& section, uint64_t checksum, uint64_t entry_offset) {
  if ((section.flags & ~kKnownFlags) != 0) {
    return absl::UnimplementedError(absl::StrCat("section ", section.id, " has flags of a later release"));
  }
  if (Checksum(section.bytes) != checksum) {
    return DamagedAt(section.offset, absl::StrCat("the ", SectionName(section.id), " section has a wrong checksum"));
  }
  bool skippable = (section.flags & kFlagSkippable) != 0;
  if (IsKnown(section.id)) {
    bool semantic = section.id <= static_cast<uint32_t>(SectionId::kConfigs);
    if (semantic == skippable || (semantic && section.flags != 0)) return DamagedAt(entry_offset + 4, "a section with flags not its own");
    return absl::OkStatus();
  }
  if (skippable) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat("section ", section.id, " is not known to this release and cannot be skipped"));
}

}  // namespace

const ContainerSection* Container::Find(SectionId id) const {
  for (const ContainerSection& section : sections) {
    if (section.id == static_cast<uint32_t>(id)) return &section;
  }
  return nullptr;
}

absl::StatusOr<Container> ReadContainer(absl::string_view bytes) {
  TILEVM_RETURN_IF_ERROR(CheckMagic(bytes));
  if (bytes.size() < kHeaderBytes) return DamagedAt(bytes.size(), "the file ends inside its header");
  ByteReader header(bytes.substr(0, kHeaderBytes), 0);
  header.Fixed(sizeof(kTbcMagic));
  Container container;
  container.major_version = static_cast<uint16_t>(header.Fixed(2));
  container.minor_version = static_cast<uint16_t>(header.Fixed(2));
  uint64_t section_count = header.Fixed(4);
  uint64_t file_length = header.Fixed(8);
  uint64_t directory_checksum = header.Fixed(8);
  if (header.Fixed(8) != Checksum(bytes.substr(0, kHeaderChecksumOffset))) return DamagedAt(0, "the header has a wrong checksum");
  if (container.major_version != kTbcMajor) {
    return absl::UnimplementedError(absl::StrCat("a .tbc of format ", container.major_version, "; this release reads format ", kTbcMajor));
  }
  if (file_length != bytes.size()) {
    return DamagedAt(std::min<uint64_t>(file_length, bytes.size()), absl::StrCat("the file has ", bytes.size(), " bytes, its header says ", file_length));
  }
  if (section_count > kMaxSections || section_count * kDirectoryEntryBytes > bytes.size() - kHeaderBytes) {
    return DamagedAt(12, absl::StrCat(section_count, " sections"));
  }
  absl::string_view directory = bytes.substr(kHeaderBytes, section_count * kDirectoryEntryBytes);
  if (Checksum(directory) != directory_checksum) return DamagedAt(kHeaderBytes, "the directory has a wrong checksum");
  ByteReader entries(directory, kHeaderBytes);
  uint64_t next_offset = kHeaderBytes + directory.size();
  for (uint64_t i = 0; i < section_count; ++i) {
    uint64_t entry_offset = entries.offset();
    ContainerSection section;
    section.id = static_cast<uint32_t>(entries.Fixed(4));
    section.flags = static_cast<uint32_t>(entries.Fixed(4));
    section.offset = entries.Fixed(8);
    uint64_t length = entries.Fixed(8);
    uint64_t checksum = entries.Fixed(8);
    if (!container.sections.empty() && section.id <= container.sections.back().id) return DamagedAt(entry_offset, "sections are out of order");
    if (section.offset != next_offset || length > bytes.size() - next_offset) return DamagedAt(entry_offset, "a section that is not in its place");
    section.bytes = bytes.substr(section.offset, length);
    next_offset += length;
    TILEVM_RETURN_IF_ERROR(CheckSection(section, checksum, entry_offset));
    container.sections.push_back(section);
  }
  if (next_offset != bytes.size()) return DamagedAt(next_offset, "bytes after the last section");
  return container;
}

std::string WriteContainer(const std::vector<ContainerSection>& sections) {
  ByteWriter directory;
  uint64_t offset = kHeaderBytes + sections.size() * kDirectoryEntryBytes;
  for (const ContainerSection& section : sections) {
    directory.Fixed(section.id, 4);
    directory.Fixed(section.flags, 4);
    directory.Fixed(offset, 8);
    directory.Fixed(section.bytes.size(), 8);
    directory.Fixed(XXH3_64bits(section.bytes.data(), section.bytes.size()), 8);
    offset += section.bytes.size();
  }
  ByteWriter header;
  for (unsigned char c : kTbcMagic) header.U8(c);
  header.Fixed(kTbcMajor, 2);
  header.Fixed(kTbcMinor, 2);
  header.Fixed(sections.size(), 4);
  header.Fixed(offset, 8);
  header.Fixed(XXH3_64bits(directory.bytes().data(), directory.size()), 8);
  header.Fixed(XXH3_64bits(header.bytes().data(), header.size()), 8);
  std::string file = header.bytes() + directory.bytes();
  for (const ContainerSection& section : sections) file.append(section.bytes.data(), section.bytes.size());
  return file;
}

std::string SectionName(uint32_t id) {
  switch (static_cast<SectionId>(id)) {
    case SectionId::kStrings: return "strings";
    case SectionId::kConstants: return "constants";
    case SectionId::kFunctions: return "functions";
    case SectionId::kCode: return "code";
    case SectionId::kUnits: return "units";
    case SectionId::kConfigs: return "configs";
    case SectionId::kTuning: return "tuning";
    case SectionId::kLaunchMetadata: return "launch metadata";
    case SectionId::kFatEntries: return "fat entries";
    case SectionId::kSelfTest: return "self-test";
    case SectionId::kFiles: return "files";
    case SectionId::kPlaces: return "places";
    case SectionId::kSource: return "source";
  }
  return absl::StrCat("section ", id);
}

// Streams, so that memory grows with what is really there and not with what the length claims.
absl::StatusOr<std::string> SectionContent(const ContainerSection& section) {
  if ((section.flags & kFlagCompressed) == 0) return std::string(section.bytes);
  ByteReader reader(section.bytes, section.offset);
  uint64_t size = reader.Varint();
  if (!reader.ok()) return reader.status();
  if (size > kMaxSourceBytes) return DamagedAt(section.offset, "a compressed section that is too large");
  absl::string_view frame = reader.Rest();
  std::unique_ptr<ZSTD_DStream, size_t (*)(ZSTD_DStream*)> stream(ZSTD_createDStream(), ZSTD_freeDStream);
  if (stream == nullptr) return absl::ResourceExhaustedError("no memory to decompress with");
  ZSTD_DCtx_setParameter(stream.get(), ZSTD_d_windowLogMax, 24);
  std::string content;
  ZSTD_inBuffer in{frame.data(), frame.size(), 0};
  size_t result = 1;
  char chunk[16384];
  while (result != 0) {
    ZSTD_outBuffer out{chunk, sizeof(chunk), 0};
    size_t before = in.pos;
    result = ZSTD_decompressStream(stream.get(), &out, &in);
    bool stuck = result != 0 && out.pos == 0 && in.pos == before;
    if (ZSTD_isError(result) != 0 || stuck || content.size() + out.pos > size) break;
    content.append(chunk, out.pos);
  }
  if (result != 0 || in.pos != in.size || content.size() != size) return DamagedAt(section.offset, "a compressed section that does not unpack");
  return content;
}

void RepairChecksums(std::string& bytes) {
  if (bytes.size() < kHeaderBytes) return;
  auto store = [&bytes](size_t at, uint64_t value) {
    for (int i = 0; i < 8; ++i) bytes[at + i] = static_cast<char>(value >> (8 * i));
  };
  auto load = [&bytes](size_t at, int width) { return ByteReader(absl::string_view(bytes).substr(at, width), 0).Fixed(width); };
  uint64_t section_count = std::min<uint64_t>(load(12, 4), (bytes.size() - kHeaderBytes) / kDirectoryEntryBytes);
  for (uint64_t i = 0; i < section_count; ++i) {
    size_t entry = kHeaderBytes + i * kDirectoryEntryBytes;
    uint64_t offset = load(entry + 8, 8), length = load(entry + 16, 8);
    if (offset > bytes.size() || length > bytes.size() - offset) continue;
    store(entry + 24, Checksum(absl::string_view(bytes).substr(offset, length)));
  }
  store(kDirectoryChecksumOffset, Checksum(absl::string_view(bytes).substr(kHeaderBytes, section_count * kDirectoryEntryBytes)));
  store(kHeaderChecksumOffset, Checksum(absl::string_view(bytes).substr(0, kHeaderChecksumOffset)));
}

}  // namespace tilevm::isa
