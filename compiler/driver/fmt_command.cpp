#include "compiler/driver/fmt_command.h"

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "compiler/driver/arguments.h"
#include "compiler/graph/text.h"
#include "compiler/loops/text.h"
#include "compiler/ops/op_table.h"

namespace lenz {

namespace {
// All or nothing: a full disk leaves the old file.
void replace_file(const std::string& path, const std::string& text) {
  std::string fresh = path + ".fmt";
  std::ofstream out(fresh, std::ios::binary);
  out << text;
  out.close();
  std::error_code error;
  if (out) std::filesystem::rename(fresh, path, error);
  if (!out || error) {
    std::filesystem::remove(fresh, error);
    throw UserError("can't write the file", path);
  }
}
}  // namespace

namespace {
std::string canonical_graph(const std::string& text, const std::string& file, bool types, bool provenance) {
  Comments comments;
  ParseOptions parse;
  parse.file = file;
  parse.comments = &comments;
  PrintOptions options;
  options.types = types;
  options.provenance = provenance;
  options.comments = &comments;
  return print(*parse_graph(text, op_table(), parse), options);
}

std::string canonical_program(const std::string& text, const std::string& file, bool provenance) {
  loops::LineComments comments;
  loops::ProgramParseOptions parse;
  parse.file = file;
  parse.comments = &comments;
  loops::ProgramPrintOptions options;
  options.provenance = provenance;
  options.comments = &comments;
  return print(loops::parse_program(text, op_table(), parse), options);
}
}  // namespace

ExitCode fmt_command(std::span<const std::string> args) {
  CLI::App app("Prints graphs and loop programs in canonical spelling; comments stay.", "lenz fmt");
  std::vector<std::string> files;
  bool check = false, write = false, types = false, provenance = true;
  app.add_option("FILE", files, "texts of graphs or programs; - is the standard input")->required();
  app.add_flag("--check", check, "only say which files are not in canonical spelling; exit code 2 if any is not");
  app.add_flag("--write", write, "rewrite the files in place")->excludes("--check");
  app.add_flag("--types", types, "annotate every result with its type");
  app.add_flag("!--no-provenance", provenance, "leave out what the nodes came from (`from %a`)");
  if (!parse_arguments(app, args)) return ExitCode::fine;

  ExitCode code = ExitCode::fine;
  for (const std::string& path : files) {
    std::string text = read_text(path, ParseLimits().text);
    std::string file = text_name(path);
    std::string canonical = loops::is_program_text(text) ? canonical_program(text, file, provenance)
                                                         : canonical_graph(text, file, types, provenance);
    if (check) {
      if (canonical == text) continue;
      std::printf("%s is not in canonical spelling (lenz fmt --write mends it)\n", file.c_str());
      code = ExitCode::bad_input;
    } else if (write && path != "-") {
      if (canonical != text) replace_file(path, canonical);
    } else {
      std::fwrite(canonical.data(), 1, canonical.size(), stdout);
    }
  }
  return code;
}

}  // namespace lenz
