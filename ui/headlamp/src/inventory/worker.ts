// Answers questions about operators beside the page, which would wait meanwhile.

import type { Answer, Question } from './inventory';
import { Program, start } from './program';

let started: Promise<Program> | undefined;

async function load(program: string): Promise<Program> {
  const { body } = await fetch(program);
  if (!body) {
    throw new Error('the program that describes operators is empty');
  }
  return start(body);
}

self.onmessage = async ({ data }: MessageEvent<Question>) => {
  let answer: Answer;
  try {
    started ??= load(data.program);
    answer = { id: data.id, ...(await started)(data.cluster) };
  } catch (error) {
    answer = { id: data.id, error: String(error) };
  }
  self.postMessage(answer);
};
