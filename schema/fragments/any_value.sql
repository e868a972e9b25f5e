    -- OTLP's AnyValue as text, as the Go exporter writes it: scalars plain, bytes as base64, lists and
    -- maps as JSON. Lists and maps arrive undecoded and are taken apart here, only where there are
    -- some: tag 10, a length (a varint of one or two bytes), and that many bytes make an element; in a
    -- map the element holds the key in the same way and then, after tag 18 and a length, the value.
    -- What is nested in an element, and a list or map longer than 4 KiB, stays base64 of its own bytes:
    -- nothing is lost. Short on purpose: ClickHouse analyses a view anew for each insert, some 40 µs
    -- a function, and a function named here counts as often as its name is written.
    (bytes, at) -> reinterpretAsUInt8(substring(bytes, at, 1)) AS byte_at,
    -- Of an element whose tag is the first byte: where its content starts, and how long that is.
    bytes -> 3 + (byte_at(bytes, 2) > 127) AS start_of,
    bytes -> bitAnd(byte_at(bytes, 2), 127) + 128 * (byte_at(bytes, 2) > 127) * byte_at(bytes, 3) AS length_of,
    bytes -> arrayFold(
        (left, n) -> if(left.1 = '', left, (
            substring(left.1, start_of(left.1) + length_of(left.1)),
            arrayPushBack(left.2, substring(left.1, start_of(left.1), length_of(left.1))))),
        range(countSubstrings(bytes, '\n')),
        (bytes, emptyArrayString())).2 AS parts_of,
    bytes -> multiIf(
        bytes = '', 'null',
        byte_at(bytes, 1) = 10, toJSONString(substring(bytes, start_of(bytes))),
        byte_at(bytes, 1) = 16, if(byte_at(bytes, 2) = 1, 'true', 'false'),
        byte_at(bytes, 1) = 24, toString(reinterpretAsInt64(arraySum(
            n -> bitShiftLeft(toUInt64(bitAnd(byte_at(bytes, n + 2), 127)), 7 * n), range(length(bytes) - 1)))),
        byte_at(bytes, 1) = 33, toString(reinterpretAsFloat64(substring(bytes, 2))),
        '"' || base64Encode(bytes) || '"') AS json_of,
    (list, map) -> if(length(list) + length(map) > 4096, base64Encode(list || map),
        if(map = '', '[', '{') || arrayStringConcat(arrayMap(
            pair -> pair.1 || json_of(pair.2),
            arrayMap(
                part -> (
                    if(map = '', '', toJSONString(substring(part, 3, byte_at(part, 2))) || ':'),
                    if(map = '', part, substring(part, 5 + byte_at(part, 2) + (byte_at(part, 4 + byte_at(part, 2)) > 127)))),
                parts_of(list || map))), ',') || if(map = '', ']', '}')) AS json_tree_of,
    (text, flag, whole, real, list, map, bytes) -> multiIf(
        isNotNull(whole), toString(assumeNotNull(whole)),
        isNotNull(real), toString(assumeNotNull(real)),
        isNotNull(flag), toString(assumeNotNull(flag)),
        length(list) + length(map) > 0, json_tree_of(list, map),
        notEmpty(bytes), base64Encode(bytes),
        text) AS text_of,
    attributes -> CAST((attributes.key, arrayMap(
        (text, flag, whole, real, list, map, bytes) -> text_of(text, flag, whole, real, list, map, bytes),
        attributes.value.string_value, attributes.value.bool_value, attributes.value.int_value,
        attributes.value.double_value, attributes.value.array_value, attributes.value.kvlist_value,
        attributes.value.bytes_value)), 'Map(LowCardinality(String), String)') AS map_of,
    -- Where lists and maps are not worth their analysis: below a span, and on metrics.
    attributes -> CAST((attributes.key, arrayMap(
        (text, flag, whole, real, list, map, bytes) -> multiIf(
            isNotNull(whole), toString(assumeNotNull(whole)),
            isNotNull(real), toString(assumeNotNull(real)),
            isNotNull(flag), toString(assumeNotNull(flag)),
            length(list) + length(map) + length(bytes) > 0, base64Encode(list || map || bytes),
            text),
        attributes.value.string_value, attributes.value.bool_value, attributes.value.int_value,
        attributes.value.double_value, attributes.value.array_value, attributes.value.kvlist_value,
        attributes.value.bytes_value)), 'Map(LowCardinality(String), String)') AS flat_map_of
