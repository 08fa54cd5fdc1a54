// Requests to the server this page comes from. Any failure becomes an Error whose message can be shown.
export async function ask(path, body, { method = body === undefined ? "GET" : "POST", signal } = {}) {
  const headers = body === undefined ? {} : { "Content-Type": "application/json" };
  let response;
  try {
    response = await fetch(path, { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body) });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The server does not answer: is anyner serve still running?");
  }
  const answer = await response.json().catch(error => {
    if (error.name === "AbortError") throw error;
    return {};
  });
  if (!response.ok) throw new Error(answer.error ?? `The server answered ${response.status} ${response.statusText}`);
  return answer;
}
