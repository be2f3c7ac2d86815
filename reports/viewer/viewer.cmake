# The charts of the report page. Without npm, or when its packages cannot be had, the page is built
# without them: its tables and static bars say the same.
set(MESHWRIGHT_VIEWER auto CACHE STRING "Charts in the report page. auto: when npm works; on: required; off: never")
set_property(CACHE MESHWRIGHT_VIEWER PROPERTY STRINGS auto on off)

find_program(MESHWRIGHT_NPM npm)
set(viewer ${CMAKE_CURRENT_SOURCE_DIR}/viewer)
set(modules ${CMAKE_BINARY_DIR}/viewer)
set(esbuild ${modules}/node_modules/.bin/esbuild)
set(has_viewer FALSE)
if(NOT MESHWRIGHT_VIEWER STREQUAL "off" AND MESHWRIGHT_NPM)
  file(COPY ${viewer}/package.json ${viewer}/package-lock.json ${viewer}/.npmrc DESTINATION ${modules})
  if(NOT EXISTS ${esbuild})
    message(STATUS "Fetching the viewer's packages with npm ci")
    execute_process(COMMAND ${MESHWRIGHT_NPM} ci --ignore-scripts --no-audit --no-fund --fetch-retries=0
                            --fetch-timeout=30000
                    WORKING_DIRECTORY ${modules} RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET TIMEOUT 180)
  endif()
  if(EXISTS ${esbuild})
    set(has_viewer TRUE)
  endif()
endif()
if(MESHWRIGHT_VIEWER STREQUAL "on" AND NOT has_viewer)
  message(FATAL_ERROR "MESHWRIGHT_VIEWER=on, but npm or the viewer's packages are missing. "
                      "Install npm, or run npm ci in ${modules}")
endif()
set_property(GLOBAL PROPERTY MESHWRIGHT_HAS_VIEWER ${has_viewer})
add_feature_info(VIEWER "${has_viewer}" "charts in the report page: needs npm and its packages at build time")

set(script ${CMAKE_BINARY_DIR}/generated/reports/viewer.js)
set(MESHWRIGHT_VIEWER_SCRIPT "")
if(has_viewer)
  file(GLOB sources CONFIGURE_DEPENDS ${viewer}/src/*.ts)
  add_custom_command(
    OUTPUT ${script}
    COMMAND ${CMAKE_COMMAND} -E env NODE_PATH=${modules}/node_modules
            ${esbuild} ${viewer}/src/main.ts --bundle --minify --target=es2020
            --format=iife --charset=ascii --legal-comments=none --log-level=warning --outfile=${script}
    DEPENDS ${sources} ${viewer}/package.json
    VERBATIM)
  set(MESHWRIGHT_VIEWER_SCRIPT ${script})
else()
  file(REMOVE ${script})
endif()
