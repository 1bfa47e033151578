// SPDX-License-Identifier: Apache-2.0
// Compiles the English texts that stand in the code while it is built: no browser loads the compiler of messages for them.
import { compileMessage } from "@lingui/message-utils/compileMessage";
import { type ESTree, parseSync, type Plugin, Visitor } from "vite";

/** Ids of texts, as Lingui makes them. */
const ID = /^[\w+/-]{6}$/;

/** `code` (JavaScript) in which the `message` of each text, an object with `id` and `message`, is what Lingui's compiler makes of it. */
export function withCompiledTexts(code: string): string {
  const messages: ESTree.StringLiteral[] = [];
  const visitor = new Visitor({
    ObjectExpression({ properties }) {
      const id = literal(properties, "id");
      const message = literal(properties, "message");
      if (id !== undefined && message !== undefined && ID.test(id.value)) messages.push(message);
    },
  });
  visitor.visit(parseSync("texts.js", code).program);
  const parts: string[] = [];
  let end = 0;
  for (const message of messages.sort((a, b) => a.start - b.start)) {
    parts.push(code.slice(end, message.start), JSON.stringify(compileMessage(message.value)));
    end = message.end;
  }
  return parts.join("") + code.slice(end);
}

function literal(properties: ESTree.ObjectExpression["properties"], name: string): ESTree.StringLiteral | undefined {
  const values = properties.flatMap((property) => {
    const isNamed = property.type === "Property" && property.key.type === "Identifier" && property.key.name === name;
    return isNamed && property.value.type === "Literal" && typeof property.value.value === "string" ? [property.value] : [];
  });
  return values[0];
}

export function compiledTexts(): Plugin {
  return {
    name: "mlhub:compiled-texts",
    apply: "build",
    enforce: "post",
    transform: {
      filter: { id: /\/src\/.*\.tsx?$/, code: /\bmessage: ["'`]/ },
      handler: (code) => ({ code: withCompiledTexts(code), map: null }),
    },
  };
}
