# cmake -DINPUT=file -DOUTPUT=file.cc -DFUNCTION=name -P embed.cmake
# Writes a C++ source whose meshwright::reports::<name>() returns the file's bytes.
# An INPUT that is not there is an empty text.
set(text "")
if(EXISTS ${INPUT})
  file(READ ${INPUT} text)
endif()
string(FIND "${text}" ")meshwright\"" clash)
if(NOT clash EQUAL -1)
  message(FATAL_ERROR "${INPUT} holds the delimiter of the raw string it is embedded as")
endif()
get_filename_component(name "${INPUT}" NAME)
file(WRITE ${OUTPUT}
  "// Generated from ${name}.\n"
  "#include \"reports/page.h\"\n\n"
  "namespace meshwright::reports {\n\n"
  "std::string_view ${FUNCTION}() {\n"
  "  static constexpr char kText[] = R\"meshwright(${text})meshwright\";\n"
  "  return {kText, sizeof kText - 1};\n"
  "}\n\n"
  "}  // namespace meshwright::reports\n")
