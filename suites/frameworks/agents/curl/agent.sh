#!/bin/sh
# An order taker in a shell: curl speaks to the model (Messages API, streamed) and to the tools, jq holds the rest.
set -eu

post() { curl -sS -N --json @- "$@"; }

tools=$(curl -sS "$HARNESS_GATEWAY_URL/tools" |
    jq -c '[.tools[] | {name, description, input_schema: .parameters}]')
messages=$(curl -sS "$HARNESS_GATEWAY_URL/turn" | jq -c '[{role: "user", content: .message}]')

while :; do
    # One reply: the events of the stream, put together into content blocks.
    blocks=$(jq -n --rawfile prompt "$(dirname "$0")/prompt.md" --argjson tools "$tools" --argjson messages "$messages" \
        '{model: "order-double", max_tokens: 1000, stream: true, system: $prompt, $tools, $messages}' |
        post -H "x-api-key: ${ANTHROPIC_API_KEY:-none}" -H "anthropic-version: 2023-06-01" \
            "$ANTHROPIC_BASE_URL/v1/messages" |
        sed -n 's/^data: //p' |
        jq -cs 'reduce .[] as $event ([];
            if $event.type == "error" then error($event.error.message)
            elif $event.type == "content_block_start" then .[$event.index] = $event.content_block + {json: ""}
            elif $event.delta.type? == "text_delta" then .[$event.index].text += $event.delta.text
            elif $event.delta.type? == "input_json_delta" then .[$event.index].json += $event.delta.partial_json
            else . end)
          | map(if .type == "tool_use" then .input = (.json | if . == "" then {} else fromjson end) else . end
                | del(.json))')
    messages=$(jq -cn --argjson messages "$messages" --argjson blocks "$blocks" \
        '$messages + [{role: "assistant", content: $blocks}]')

    calls=$(printf '%s' "$blocks" | jq -c '.[] | select(.type == "tool_use")')
    if [ -z "$calls" ]; then
        printf '%s' "$blocks" | jq -r '[.[] | select(.type == "text").text] | join("\n")'
        exit 0
    fi

    # Every call of the reply, its answer or error back to the model.
    results=$(printf '%s\n' "$calls" | while IFS= read -r call; do
        name=$(printf '%s' "$call" | jq -r .name)
        answer=$(printf '%s' "$call" | jq -c .input | post "$HARNESS_GATEWAY_URL/tools/$name")
        printf '%s' "$call" | jq -c --arg answer "$answer" \
            '{type: "tool_result", tool_use_id: .id, content: $answer, is_error: ($answer | fromjson | has("error"))}'
    done | jq -cs .)
    messages=$(jq -cn --argjson messages "$messages" --argjson results "$results" \
        '$messages + [{role: "user", content: $results}]')
done
