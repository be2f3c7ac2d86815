# src/record.ts is what the program's schema says, and TypeScript finds nothing wrong.
execute_process(COMMAND ${PROGRAM} schema report
                COMMAND ${NODE} ${VIEWER}/record_types.mjs --check
                COMMAND_ERROR_IS_FATAL ANY)
# Packages are looked for beside the sources that import them.
file(REMOVE_RECURSE ${MODULES}/checked)
file(COPY ${VIEWER}/src ${VIEWER}/tsconfig.json DESTINATION ${MODULES}/checked)
execute_process(COMMAND ${NODE} ${MODULES}/node_modules/typescript/bin/tsc --noEmit -p ${MODULES}/checked
                COMMAND_ERROR_IS_FATAL ANY)
