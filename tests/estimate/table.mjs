// table.mjs - makes the table of tests/unit/estimate_rows.h: texts, and how many tokens a real tokenizer makes of them.
// SPDX-License-Identifier: MIT
//
// For developers: the build and the tests need neither node nor the tokenizer. Usage, from the root of the tree:
//     node tests/estimate/table.mjs FOLDER
// FOLDER/node_modules has gpt-tokenizer. Texts are those of texts.txt, and some made here from seeds.
import fs from 'node:fs';
import path from 'node:path';
import {createRequire} from 'node:module';

const folder = process.argv[2];
if (!folder) {
    console.error('usage: node tests/estimate/table.mjs FOLDER-WITH-NODE_MODULES');
    process.exit(2);
}
const require = createRequire(path.resolve(folder, 'package.json'));
const version = require('gpt-tokenizer/package.json').version;
const encoders = ['cl100k_base', 'o200k_base'].map((name) => require(`gpt-tokenizer/encoding/${name}`).encode);

// Numerical Recipes' generator: the same rows every time.
function* numbers(seed) {
    for (let state = seed >>> 0;; state = (Math.imul(state, 1664525) + 1013904223) >>> 0)
        yield state >>> 8;
}

function below(source, n) {
    return source.next().value % n;
}

function letters(source, n, alphabet) {
    return Array.from({length: n}, () => alphabet[below(source, alphabet.length)]).join('');
}

const HEX = '0123456789abcdef';
const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const PICTURES = [...'😀😂🥺🙏💯🔥🎉👋🍏🍕🚗🏠🐱🌍💡📦🔒⏰🧭🪐'];

function uuid(source) {
    return [8, 4, 4, 4, 12].map((n) => letters(source, n, HEX)).join('-');
}

function shuffled(source, words) {
    return Array.from({length: 40}, () => words[below(source, words.length)]).join(' ');
}

function made(texts) {
    const words = texts.filter((text) => text.kind === 'prose').flatMap((text) => text.text.match(/[A-Za-z']+/g));
    const rows = [];
    for (let seed = 1; seed <= 3; seed++) {
        const source = numbers(seed);
        rows.push(['hex', letters(source, 160, HEX)]);
        rows.push(['base64', letters(source, 300, BASE64)]);
        rows.push(['uuids', `${uuid(source)} ${uuid(source)}\n${uuid(source)}`]);
        rows.push(['figures', Array.from({length: 20}, () => below(source, 10 ** (1 + below(source, 7)))).join(' ')]);
        rows.push(['words', shuffled(source, words)]);
        rows.push(['pictures', letters(source, 30, PICTURES)]);
    }
    return rows.map(([kind, text]) => ({kind, text}));
}

function read(file) {
    const texts = [];
    for (const line of fs.readFileSync(file, 'utf8').split('\n')) {
        if (line.startsWith('== '))
            texts.push({kind: line.slice(3), lines: []});
        else if (texts.length)
            texts[texts.length - 1].lines.push(line);
    }
    return texts.map(({kind, lines}) => ({kind, text: lines.join('\n').replace(/\n+$/, '')}));
}

// C string literals of at most 100 characters, one for each line of the text at least.
function literals(text) {
    const escaped = (c) => ({'"': '\\"', '\\': '\\\\', '\t': '\\t', '\n': '\\n', '?': '\\?'}[c] ?? c);
    const lines = [''];
    for (const c of text) {
        lines[lines.length - 1] += escaped(c);
        if (c === '\n' || lines[lines.length - 1].length >= 100)
            lines.push('');
    }
    return lines.filter((line) => line).map((line) => `     "${line}"`).join('\n');
}

const texts = read('tests/estimate/texts.txt');
const rows = [...texts, ...made(texts)].map(({kind, text}) => {
    const [cl100k, o200k] = encoders.map((encode) => encode(text).length);
    return `    {"${kind}", ${cl100k}, ${o200k},\n${literals(text)}},\n`;
});
fs.writeFileSync('tests/unit/estimate_rows.h', `/* SPDX-License-Identifier: MIT */
/*
 * estimate_rows.h - texts and their tokens: class, tokens in cl100k_base, tokens in o200k_base, text.
 *
 * Made by tests/estimate/table.mjs with gpt-tokenizer ${version}; not to be changed by hand.
 */
/* clang-format off */
${rows.join('')}`);
console.log(`${rows.length} rows`);
