// Generated from regs/module.rdl by regs/regs.py; make changes there.
//
// A write takes effect two cycles later. The answer to a read comes three cycles after it, one read at a time.
// For 64-bit registers that the core writes, reading the low half latches the high half for the next read.
//
// `unknown_o` is valid one cycle after a read or a write and holds until the next. It is high if the address
// cannot be read, or written.
module registers (
    input  logic clk_i,
    input  logic rst_ni,
    input  logic write_i,
    input  logic read_i,
    input  logic [12:0] address_i,  // in bytes
    input  logic [31:0] data_i,
    output logic read_valid_o,
    output logic [31:0] data_o,
    output logic unknown_o,
    // Constants for the answer to hello.
    output logic [31:0] magic_o,
    output logic [31:0] layout_o,
    input  logic [31:0] build_i,
    output logic control_live_o,
    output logic control_run_o,
    output logic control_gaps_from_list_o,
    output logic [1:0] control_from_o,
    output logic [1:0] control_first_from_o,
    output logic command_forget_o,
    output logic command_gap_set_o,
    output logic command_clear_o,
    output logic command_ns_set_o,
    output logic command_ns_step_o,
    output logic command_capture_o,
    input  logic status_idle_i,
    input  logic status_forgetting_i,
    input  logic status_wire_i,
    input  logic [31:0] forgotten_i,
    output logic [63:0] first_time_o,
    output logic [11:0] last_entry_o,
    output logic [31:0] frames_o,
    output logic [31:0] gap_whole_o,
    output logic [31:0] gap_numerator_o,
    output logic [31:0] gap_denominator_o,
    output logic [2:0] memory_which_o,
    output logic [15:0] memory_address_o,
    output logic [31:0] memory_data_o,
    output logic [7:0] ns_whole_o,
    output logic [31:0] ns_fraction_o,
    output logic [63:0] ns_value_o,
    input  logic [63:0] captured_time_i,
    input  logic [63:0] captured_tick_i,
    output logic listen_signed_o,
    output logic [7:0] listen_signature_at_o,
    output logic [31:0] gap_reference_o,
    output logic [7:0] rule_place0_at_o,
    output logic rule_place0_enable_o,
    output logic [7:0] rule_place1_at_o,
    output logic rule_place1_enable_o,
    output logic [7:0] rule_place2_at_o,
    output logic rule_place2_enable_o,
    output logic [7:0] rule_place3_at_o,
    output logic rule_place3_enable_o,
    output logic [15:0] rule_value0_o,
    output logic [15:0] rule_value0_mask_o,
    output logic [15:0] rule_value1_o,
    output logic [15:0] rule_value1_mask_o,
    output logic [15:0] rule_value2_o,
    output logic [15:0] rule_value2_mask_o,
    output logic [15:0] rule_value3_o,
    output logic [15:0] rule_value3_mask_o,
    output logic [9:0] read_at_o,
    output logic [1:0] read_what_o,
    output logic read_ask_o,
    input  logic [31:0] read_data_i,
    input  logic read_state_done_i,
    output logic link_departures_o,
    output logic link_received_o,
    output logic [31:0] link_patience_o,
    input  logic [63:0] latest_i,
    output logic memory_address_write_o,
    output logic memory_data_write_o
);
  wire [10:0] word = address_i[12:2];
  logic [10:0] word_q;  // the word to read
  logic [2:0] reading_q;
  logic [31:0] high_q;
  logic [3:0][31:0] group_q;
  logic [31:0] any_group;
  // Writes are decoded a cycle early, so that no register waits for the decoding of an address.
  logic [26:0] hit_q;
  logic [31:0] data_q;
  always_comb begin
    any_group = '0;
    for (int unsigned i = 0; i < 4; i++) any_group |= group_q[i];
  end

  always_ff @(posedge clk_i) begin
    command_forget_o <= 1'b0;
    command_gap_set_o <= 1'b0;
    command_clear_o <= 1'b0;
    command_ns_set_o <= 1'b0;
    command_ns_step_o <= 1'b0;
    command_capture_o <= 1'b0;
    read_ask_o <= 1'b0;
    memory_address_write_o <= write_i && word == 11'h011;
    memory_address_o <= data_i[15:0];
    memory_data_write_o <= write_i && word == 11'h012;
    memory_data_o <= data_i;
    data_q <= data_i;
    hit_q[0] <= write_i && word == 11'h004;
    hit_q[1] <= write_i && word == 11'h005;
    hit_q[2] <= write_i && word == 11'h008;
    hit_q[3] <= write_i && word == 11'h009;
    hit_q[4] <= write_i && word == 11'h00a;
    hit_q[5] <= write_i && word == 11'h00b;
    hit_q[6] <= write_i && word == 11'h00c;
    hit_q[7] <= write_i && word == 11'h00d;
    hit_q[8] <= write_i && word == 11'h00e;
    hit_q[9] <= write_i && word == 11'h010;
    hit_q[10] <= write_i && word == 11'h014;
    hit_q[11] <= write_i && word == 11'h015;
    hit_q[12] <= write_i && word == 11'h016;
    hit_q[13] <= write_i && word == 11'h017;
    hit_q[14] <= write_i && word == 11'h01c;
    hit_q[15] <= write_i && word == 11'h01d;
    hit_q[16] <= write_i && word == 11'h020;
    hit_q[17] <= write_i && word == 11'h021;
    hit_q[18] <= write_i && word == 11'h022;
    hit_q[19] <= write_i && word == 11'h023;
    hit_q[20] <= write_i && word == 11'h024;
    hit_q[21] <= write_i && word == 11'h025;
    hit_q[22] <= write_i && word == 11'h026;
    hit_q[23] <= write_i && word == 11'h027;
    hit_q[24] <= write_i && word == 11'h028;
    hit_q[25] <= write_i && word == 11'h02d;
    hit_q[26] <= write_i && word == 11'h02e;
    if (hit_q[0]) begin
      control_live_o <= data_q[0];
      control_run_o <= data_q[1];
      control_gaps_from_list_o <= data_q[2];
      control_from_o <= data_q[4:3];
      control_first_from_o <= data_q[6:5];
    end
    if (hit_q[1]) begin
      command_forget_o <= data_q[0];
      command_gap_set_o <= data_q[1];
      command_clear_o <= data_q[2];
      command_ns_set_o <= data_q[4];
      command_ns_step_o <= data_q[5];
      command_capture_o <= data_q[6];
    end
    if (hit_q[2]) first_time_o[31:0] <= data_q[31:0];
    if (hit_q[3]) first_time_o[63:32] <= data_q[31:0];
    if (hit_q[4]) last_entry_o <= data_q[11:0];
    if (hit_q[5]) frames_o <= data_q[31:0];
    if (hit_q[6]) gap_whole_o <= data_q[31:0];
    if (hit_q[7]) gap_numerator_o <= data_q[31:0];
    if (hit_q[8]) gap_denominator_o <= data_q[31:0];
    if (hit_q[9]) memory_which_o <= data_q[2:0];
    if (hit_q[10]) ns_whole_o <= data_q[7:0];
    if (hit_q[11]) ns_fraction_o <= data_q[31:0];
    if (hit_q[12]) ns_value_o[31:0] <= data_q[31:0];
    if (hit_q[13]) ns_value_o[63:32] <= data_q[31:0];
    if (hit_q[14]) begin
      listen_signed_o <= data_q[0];
      listen_signature_at_o <= data_q[8:1];
    end
    if (hit_q[15]) gap_reference_o <= data_q[31:0];
    if (hit_q[16]) begin
      rule_place0_at_o <= data_q[7:0];
      rule_place0_enable_o <= data_q[8];
    end
    if (hit_q[17]) begin
      rule_place1_at_o <= data_q[7:0];
      rule_place1_enable_o <= data_q[8];
    end
    if (hit_q[18]) begin
      rule_place2_at_o <= data_q[7:0];
      rule_place2_enable_o <= data_q[8];
    end
    if (hit_q[19]) begin
      rule_place3_at_o <= data_q[7:0];
      rule_place3_enable_o <= data_q[8];
    end
    if (hit_q[20]) begin
      rule_value0_o <= data_q[15:0];
      rule_value0_mask_o <= data_q[31:16];
    end
    if (hit_q[21]) begin
      rule_value1_o <= data_q[15:0];
      rule_value1_mask_o <= data_q[31:16];
    end
    if (hit_q[22]) begin
      rule_value2_o <= data_q[15:0];
      rule_value2_mask_o <= data_q[31:16];
    end
    if (hit_q[23]) begin
      rule_value3_o <= data_q[15:0];
      rule_value3_mask_o <= data_q[31:16];
    end
    if (hit_q[24]) begin
      read_at_o <= data_q[9:0];
      read_what_o <= data_q[11:10];
      read_ask_o <= data_q[12];
    end
    if (hit_q[25]) begin
      link_departures_o <= data_q[0];
      link_received_o <= data_q[1];
    end
    if (hit_q[26]) link_patience_o <= data_q[31:0];
    if (!rst_ni) begin
      hit_q <= '0;
      control_live_o <= 1'h0;
      control_run_o <= 1'h0;
      control_gaps_from_list_o <= 1'h0;
      control_from_o <= 2'h2;
      control_first_from_o <= 2'h0;
      command_forget_o <= 1'h0;
      command_gap_set_o <= 1'h0;
      command_clear_o <= 1'h0;
      command_ns_set_o <= 1'h0;
      command_ns_step_o <= 1'h0;
      command_capture_o <= 1'h0;
      first_time_o <= 64'h0;
      last_entry_o <= 12'h0;
      frames_o <= 32'h0;
      gap_whole_o <= 32'h54;
      gap_numerator_o <= 32'h0;
      gap_denominator_o <= 32'h1;
      memory_which_o <= 3'h0;
      ns_whole_o <= 8'h8;
      ns_fraction_o <= 32'h0;
      ns_value_o <= 64'h0;
      listen_signed_o <= 1'h0;
      listen_signature_at_o <= 8'h15;
      gap_reference_o <= 32'h0;
      rule_place0_at_o <= 8'h0;
      rule_place0_enable_o <= 1'h0;
      rule_place1_at_o <= 8'h0;
      rule_place1_enable_o <= 1'h0;
      rule_place2_at_o <= 8'h0;
      rule_place2_enable_o <= 1'h0;
      rule_place3_at_o <= 8'h0;
      rule_place3_enable_o <= 1'h0;
      rule_value0_o <= 16'h0;
      rule_value0_mask_o <= 16'h0;
      rule_value1_o <= 16'h0;
      rule_value1_mask_o <= 16'h0;
      rule_value2_o <= 16'h0;
      rule_value2_mask_o <= 16'h0;
      rule_value3_o <= 16'h0;
      rule_value3_mask_o <= 16'h0;
      read_at_o <= 10'h0;
      read_what_o <= 2'h0;
      read_ask_o <= 1'h0;
      link_departures_o <= 1'h0;
      link_received_o <= 1'h0;
      link_patience_o <= 32'h0;
    end
  end

  assign magic_o  = 32'h54415245;
  assign layout_o = 32'h6bfa7c40;

  logic readable, writable;
  always_comb begin
    unique case (word)
      11'h000, 11'h001, 11'h002, 11'h003, 11'h006, 11'h007, 11'h018, 11'h019, 11'h01a, 11'h01b, 11'h029, 11'h02a, 11'h02c, 11'h046,
      11'h047: readable = 1'b1;
      default: readable = 1'b0;
    endcase
    unique case (word)
      11'h004, 11'h005, 11'h008, 11'h009, 11'h00a, 11'h00b, 11'h00c, 11'h00d, 11'h00e, 11'h010, 11'h011, 11'h012, 11'h014, 11'h015,
      11'h016, 11'h017, 11'h01c, 11'h01d, 11'h020, 11'h021, 11'h022, 11'h023, 11'h024, 11'h025, 11'h026, 11'h027, 11'h028, 11'h02d,
      11'h02e: writable = 1'b1;
      default: writable = 1'b0;
    endcase
  end

  // The address is stable until the answer.
  logic readable_q, writable_q, wrote_q;
  assign unknown_o = wrote_q ? !writable_q : !readable_q;
  always_ff @(posedge clk_i) begin
    readable_q <= readable;
    writable_q <= writable;
    wrote_q    <= write_i || (wrote_q && !read_i);
  end

  // Reading: select within groups of eight words first, then combine the groups.
  always_ff @(posedge clk_i) begin
    word_q <= word;
    if (reading_q[0]) begin
      unique case (word_q)
        11'h046: high_q <= 32'(latest_i[63:32]);
        default: ;
      endcase
    end
    if (reading_q[0]) begin
      if (word_q[10:3] == 8'h00) begin
        unique case (word_q[2:0])
          3'h0: group_q[0] <= 32'h54415245;
          3'h1: group_q[0] <= {16'h1, 16'h0};
          3'h2: group_q[0] <= build_i[31:0];
          3'h3: group_q[0] <= {8'h20, 8'hc, 8'h4, 8'h20};
          3'h6: group_q[0] <= {29'b0, status_wire_i, status_forgetting_i, status_idle_i};
          3'h7: group_q[0] <= forgotten_i[31:0];
          default: group_q[0] <= '0;
        endcase
      end else begin
        group_q[0] <= '0;
      end
      if (word_q[10:3] == 8'h03) begin
        unique case (word_q[2:0])
          3'h0: group_q[1] <= captured_time_i[31:0];
          3'h1: group_q[1] <= captured_time_i[63:32];
          3'h2: group_q[1] <= captured_tick_i[31:0];
          3'h3: group_q[1] <= captured_tick_i[63:32];
          default: group_q[1] <= '0;
        endcase
      end else begin
        group_q[1] <= '0;
      end
      if (word_q[10:3] == 8'h05) begin
        unique case (word_q[2:0])
          3'h1: group_q[2] <= read_data_i[31:0];
          3'h2: group_q[2] <= {31'b0, read_state_done_i};
          3'h4: group_q[2] <= 32'h6bfa7c40;
          default: group_q[2] <= '0;
        endcase
      end else begin
        group_q[2] <= '0;
      end
      if (word_q[10:3] == 8'h08) begin
        unique case (word_q[2:0])
          3'h6: group_q[3] <= latest_i[31:0];
          3'h7: group_q[3] <= high_q;
          default: group_q[3] <= '0;
        endcase
      end else begin
        group_q[3] <= '0;
      end
    end
    data_o       <= any_group;
    reading_q    <= {reading_q[1:0], read_i};
    read_valid_o <= reading_q[1];
    if (!rst_ni) begin
      reading_q    <= '0;
      read_valid_o <= 1'b0;
    end
  end
endmodule
