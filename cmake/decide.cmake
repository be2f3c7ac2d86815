# Decides on an optional part: meshwright_decide(PART found hint) sets MESHWRIGHT_HAS_<PART> from the option
# MESHWRIGHT_<PART> and from what was found. feature_summary prints the decision.
include(FeatureSummary)
foreach(part TESTS ONEDNN SQLITE MPI CUDA NCCL)
  set(MESHWRIGHT_${part} auto CACHE STRING "auto: when found; on: required; off: never")
  set_property(CACHE MESHWRIGHT_${part} PROPERTY STRINGS auto on off)
endforeach()

function(meshwright_decide part found hint)
  set(has FALSE)
  if(MESHWRIGHT_${part} AND found)
    set(has TRUE)
  elseif(MESHWRIGHT_${part} AND NOT MESHWRIGHT_${part} STREQUAL "auto")
    # CMake does not wrap a line that begins with a blank.
    message(FATAL_ERROR " MESHWRIGHT_${part} is ${MESHWRIGHT_${part}}, but a package is missing. ${hint}")
  endif()
  set(MESHWRIGHT_HAS_${part} ${has} PARENT_SCOPE)
  add_feature_info(${part} ${has} ${hint})
endfunction()
