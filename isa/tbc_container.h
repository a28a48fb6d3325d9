// The container alone: header, directory, checksums. What the sections hold is decoded by tbc_decode.h.
#ifndef TILEVM_ISA_TBC_CONTAINER_H_
#define TILEVM_ISA_TBC_CONTAINER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "isa/status.h"
#include "isa/tbc_format.h"

namespace tilevm::isa {

struct ContainerSection {
  uint32_t id = 0;
  uint32_t flags = 0;
  uint64_t offset = 0;
  absl::string_view bytes;
};

struct Container {
  uint16_t major_version = 0;
  uint16_t minor_version = 0;
  std::vector<ContainerSection> sections;

  const ContainerSection* Find(SectionId id) const;  // null if there is none
};

// Every checksum holds and every section lies where the directory says, with no byte between or after them.
absl::StatusOr<Container> ReadContainer(absl::string_view bytes);

// Sections in ascending order of their ids, with header, directory and checksums; offsets are not read.
std::string WriteContainer(const std::vector<ContainerSection>& sections);

std::string SectionName(uint32_t id);

// The content of a section, decompressed if it is compressed, within kMaxSourceBytes.
absl::StatusOr<std::string> SectionContent(const ContainerSection& section);

// Writes right checksums over the wrong ones of a file whose header and directory are otherwise whole, so that tests and fuzzers get past
// them. Leaves other bytes alone.
void RepairChecksums(std::string& bytes);

}  // namespace tilevm::isa

#endif  // TILEVM_ISA_TBC_CONTAINER_H_
